// The editors and CLIs that the installer knows. Their names, titles and programs come from the table of CLIs in the SDK, all else from the file of each in
// editors/.

import { join } from 'node:path'
import { type CliNameWith, clisWith } from '@agent-relay/sdk/internal/clis'
import { programFolders } from '@agent-relay/sdk/internal/discover'
import type { EditorName, EditorRule, HookedEditor } from './editor-rule.ts'
import { claude } from './editors/claude.ts'
import { claudeDesktop } from './editors/claude-desktop.ts'
import { codex } from './editors/codex.ts'
import { copilot } from './editors/copilot.ts'
import { cursor } from './editors/cursor.ts'
import { droid } from './editors/droid.ts'
import { gemini } from './editors/gemini.ts'
import { opencode } from './editors/opencode.ts'
import { qwen } from './editors/qwen.ts'
import { vscode } from './editors/vscode.ts'
import { windsurf } from './editors/windsurf.ts'
import { zed } from './editors/zed.ts'
import type { InstallContext } from './paths.ts'

export interface Editor extends EditorRule {
  /** The name for `--editor`. */
  readonly name: EditorName
  readonly title: string
  readonly program?: string
}

const rules: Record<EditorName, EditorRule> & Record<CliNameWith<'hooks'>, HookedEditor> = {
  claude,
  'claude-desktop': claudeDesktop,
  cursor,
  vscode,
  windsurf,
  zed,
  codex,
  gemini,
  droid,
  opencode,
  copilot,
  qwen,
}

export const editors: readonly Editor[] = clisWith('editor').map((cli) => ({
  name: cli.name,
  title: cli.title,
  program: 'program' in cli ? cli.program : undefined,
  ...rules[cli.name],
}))

export function detectEditors(context: InstallContext): Editor[] {
  return editors.filter(
    (editor) =>
      editor.detectionPaths.some((sign) => context.exists(sign(context))) || programPath(editor, context) !== undefined,
  )
}

export function programPath({ program }: Editor, { env, exists, platform }: InstallContext): string | undefined {
  if (program === undefined) return undefined
  const names = platform === 'win32' ? [`${program}.cmd`, `${program}.exe`] : [program]
  return programFolders(env.PATH)
    .flatMap((folder) => names.map((name) => join(folder, name)))
    .find(exists)
}
