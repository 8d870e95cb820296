// All editors and CLIs that the installer knows, in the order in which they are listed to people, and which of them are on this machine.

import { delimiter, join } from 'node:path'
import type { Editor, Surroundings } from '../editor.ts'
import { claude } from './claude.ts'
import { claudeDesktop } from './claude-desktop.ts'
import { codex } from './codex.ts'
import { copilot } from './copilot.ts'
import { cursor } from './cursor.ts'
import { droid } from './droid.ts'
import { gemini } from './gemini.ts'
import { opencode } from './opencode.ts'
import { qwen } from './qwen.ts'
import { vscode } from './vscode.ts'
import { windsurf } from './windsurf.ts'
import { zed } from './zed.ts'

export const editors: readonly Editor[] = [
  claude,
  claudeDesktop,
  cursor,
  vscode,
  windsurf,
  zed,
  codex,
  gemini,
  opencode,
  droid,
  copilot,
  qwen,
]

export function detected(around: Surroundings): Editor[] {
  return editors.filter(
    (editor) => editor.signs(around).some(around.exists) || programPath(editor, around) !== undefined,
  )
}

export function programPath({ program }: Editor, { env, exists, platform }: Surroundings): string | undefined {
  if (program === undefined) return undefined
  const names = platform === 'win32' ? [`${program}.cmd`, `${program}.exe`] : [program]
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(exists)
}
