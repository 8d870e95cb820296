// Zed. Its servers stand in the middle of the user's settings, which have comments; that a project may have its own is not confirmed.

import { appData, configHome, type Editor, joined, type Surroundings } from '../editor.ts'

const folder = (around: Surroundings): string =>
  around.platform === 'win32'
    ? joined(around, appData(around), 'Zed')
    : joined(around, around.platform === 'darwin' ? joined(around, around.home, '.config') : configHome(around), 'zed')

export const zed: Editor = {
  name: 'zed',
  title: 'Zed',
  program: 'zed',
  keyPath: ['context_servers'],
  userFile: (around) => joined(around, folder(around), 'settings.json'),
  signs: (around) => [folder(around)],
  entry: ({ command, args }) => ({ command, args, env: {} }),
}
