// VS Code. Its key is `servers`, in the mcp.json of the profile; what stands under `mcpServers` in ~/.vscode is read by nobody.

import { appData, type Editor, joined } from '../editor.ts'

export const vscode: Editor = {
  name: 'vscode',
  title: 'VS Code',
  program: 'code',
  keyPath: ['servers'],
  userFile: (around) => joined(around, appData(around), 'Code', 'User', 'mcp.json'),
  projectFile: (around) => joined(around, around.project, '.vscode', 'mcp.json'),
  signs: (around) => [joined(around, appData(around), 'Code')],
  entry: ({ command, args }) => ({ type: 'stdio', command, args }),
}
