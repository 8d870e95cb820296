// opencode. It merges several files; the one that is there already gets the entry.

import { configHome, type Editor, joined, type Surroundings } from '../editor.ts'

const names = ['opencode.jsonc', 'opencode.json']
const folder = (around: Surroundings): string => joined(around, configHome(around), 'opencode')
const fileIn = (around: Surroundings, directory: string): string =>
  names.map((name) => joined(around, directory, name)).find(around.exists) ?? joined(around, directory, 'opencode.json')

export const opencode: Editor = {
  name: 'opencode',
  title: 'opencode',
  program: 'opencode',
  keyPath: ['mcp'],
  userFile: (around) => fileIn(around, folder(around)),
  projectFile: (around) => fileIn(around, around.project),
  signs: (around) => [folder(around)],
  entry: ({ command, args }) => ({ type: 'local', command: [command, ...args], enabled: true }),
}
