// Zed: its settings and our entry there.

import type { EditorRule } from '../editor-rule.ts'
import { configHome, inAppData, inHome, joined, type Path } from '../paths.ts'

const zedFolder: Path = (around) => {
  if (around.platform === 'win32') return inAppData('Zed')(around)
  return joined(around, around.platform === 'darwin' ? inHome('.config')(around) : configHome(around), 'zed')
}

// Zed's servers stand among the user's settings, which have comments. Whether a project may have its own is not confirmed.
export const zed: EditorRule = {
  keyPath: ['context_servers'],
  userFile: (around) => joined(around, zedFolder(around), 'settings.json'),
  signs: [zedFolder],
  entry: ({ command, args }) => ({ command, args, env: {} }),
}
