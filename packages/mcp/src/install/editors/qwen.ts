// Qwen Code. It does not fill variables in, so the entry names none: the server inherits them.

import { type Editor, joined } from '../editor.ts'

export const qwen: Editor = {
  name: 'qwen',
  title: 'Qwen Code',
  program: 'qwen',
  keyPath: ['mcpServers'],
  userFile: (around) => joined(around, around.home, '.qwen', 'settings.json'),
  projectFile: (around) => joined(around, around.project, '.qwen', 'settings.json'),
  signs: (around) => [joined(around, around.home, '.qwen')],
  entry: ({ command, args }) => ({ command, args }),
}
