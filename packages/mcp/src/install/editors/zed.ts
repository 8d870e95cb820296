// Zed: its settings and our entry there.

import type { EditorRule } from '../editor-rule.ts'
import { configHome, inAppData, inHome, joinPath, type PathResolver } from '../paths.ts'

const zedFolder: PathResolver = (context) => {
  if (context.platform === 'win32') return inAppData('Zed')(context)
  return joinPath(context, context.platform === 'darwin' ? inHome('.config')(context) : configHome(context), 'zed')
}

// Zed's servers stand among the user's settings, which have comments. Whether a project may have its own is not confirmed.
export const zed: EditorRule = {
  keyPath: ['context_servers'],
  userFile: (context) => joinPath(context, zedFolder(context), 'settings.json'),
  detectionPaths: [zedFolder],
  entry: ({ command, args }) => ({ command, args, env: {} }),
}
