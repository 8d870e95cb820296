// Settings entries that have our name but start another program: finds the program's command, and asks before such an entry is replaced.

import { createInterface } from 'node:readline/promises'
import { cleanLineForModel } from '@agent-relay/sdk/internal/clean'
import { mcpServerName } from '@agent-relay/sdk/internal/clis'
import { isOwnEntry, readEntry } from '../careful/index.ts'
import { isLauncherCommand } from '../launcher/index.ts'
import type { Editor } from './editors.ts'
import { editorFile, type FileOutcome } from './install.ts'
import type { InstallContext } from './paths.ts'

const foreignCommandCharsMax = 300

/** Asks the person a question; the answer is no if nobody can be asked. `isYes`: pressing Enter means yes. */
export type Confirm = (question: string, isYes?: boolean) => Promise<boolean>

/**
 * Returns the command of an entry with our name that starts another program; undefined without such an entry. A file that cannot be read is ignored
 * here, since the edit reports it.
 */
export function foreignCommand(editor: Editor, isProject: boolean, context: InstallContext): string | undefined {
  const file = editorFile(editor, { isProject }, context)
  if (file === undefined) return undefined
  const place = { env: context.env, within: isProject ? context.project : undefined }
  try {
    const entry = readEntry(file, editor.keyPath, mcpServerName, place)
    if (entry === undefined || isLauncherCommand(entryCommand(entry), context.env)) return undefined
    return isOwnEntry(file, editor.keyPath, mcpServerName, place) ? undefined : shownCommand(entry)
  } catch {
    return undefined
  }
}

/** The program and its arguments, in whichever shape the editor has them; empty if the entry starts no program. */
export function entryCommand(entry: unknown): string[] {
  const { command, args } = (entry ?? {}) as { command?: unknown; args?: unknown }
  const words = [...(Array.isArray(command) ? command : [command]), ...(Array.isArray(args) ? args : [])]
  return words.every((word) => typeof word === 'string') ? words : []
}

/** The entry's command on one line without control characters, since anybody may have written the file. */
function shownCommand(entry: unknown): string {
  const { url } = (entry ?? {}) as { url?: unknown }
  const words = entryCommand(entry)
  const text = words.length > 0 ? words.join(' ') : typeof url === 'string' ? url : JSON.stringify(entry)
  return cleanLineForModel(text).slice(0, foreignCommandCharsMax)
}

export function leftAloneOutcome({ name, title }: Editor, file: string, foreign: string, fix: string): FileOutcome {
  const why = `the entry "${mcpServerName}" starts another program: ${foreign}`
  return { editor: name, title, what: 'server', file, status: 'failed', why, foreign, fix, exit: 1 }
}

export function canAskOnTerminal(): boolean {
  return process.stdin.isTTY === true && process.stdout.isTTY === true
}

/** Asks the person on the terminal. */
export const confirmOnTerminal: Confirm = async (question, isYes = false) => {
  if (!canAskOnTerminal()) return false
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  try {
    const answer = (await terminal.question(`${question} ${isYes ? '[Y/n]' : '[y/N]'} `)).trim()
    return answer === '' ? isYes : /^y(es)?$/i.test(answer)
  } finally {
    terminal.close()
  }
}
