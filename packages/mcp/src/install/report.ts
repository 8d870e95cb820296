// The report of an installation, for a person or, with `--json`, for a program.

import { homedir } from 'node:os'
import { listText } from '@agent-relay/sdk/internal/clis'
import { editors } from './editors.ts'
import type { FileOutcome } from './install.ts'

export type PrintLine = (text: string) => void

const supported = (): string => editors.map(({ name }) => name).join(', ')

export function reportNoneDetected(say: PrintLine, command: string): void {
  say('No supported editors detected.')
  say(`Supported editors: ${supported()}`)
  say('')
  say(`Specify manually with: ${command} install --editor <name>`)
}

export function reportUnknownEditor(say: PrintLine, name: string): void {
  say(`Unknown editor: ${name}`)
  say(`Supported editors: ${supported()}`)
}

export function outcomeLines(outcome: FileOutcome, isInstall: boolean): string[] {
  const { title, what, file, why, snippet, note } = outcome
  const subject = what === 'hooks' ? `${title} hooks` : title
  const where = file === undefined ? '' : withTilde(file)
  if (outcome.exit !== 0) {
    const paste = snippet ? [' Paste this yourself:', ...snippet.split('\n').map((line) => `      ${line}`)] : ['']
    const [end, ...block] = paste
    const helps = outcome.fix === undefined ? [] : [`      To replace it: ${outcome.fix}`]
    return [`  ✗ ${subject}: ${where}${where ? ': ' : ''}${why}. Nothing was changed.${end}`, ...block, ...helps]
  }
  const line = `  ✓ ${subject} ${isInstall ? installedText(outcome, where) : uninstalledText(outcome, where)}`
  return [line, ...(isInstall ? replacedEntryLines(outcome) : []), ...(note && isInstall ? [`      ${note}`] : [])]
}

/** Returns the line about a replaced entry, after an installation or beside the diff of a dry run. */
export function replacedEntryLines({ foreign }: FileOutcome): string[] {
  return foreign === undefined ? [] : [`      In place of another program of that name: ${foreign}`]
}

function installedText({ status }: FileOutcome, where: string): string {
  return status === 'unchanged' ? `configured already (${where})` : `configured (${where})`
}

function uninstalledText({ status, foreign }: FileOutcome, where: string): string {
  if (foreign !== undefined)
    return `left as it was (${where}): the entry starts another program: ${foreign}. --yes removes it`
  if (status === 'unchanged') return `had nothing of ours (${where})`
  return status === 'removed' ? `removed, and ${where}, which was made for it` : `removed (${where})`
}

interface InstallSummary {
  command: string
  isProject: boolean
  /** Whether every entry starts the daemon if none is running. */
  startsDaemon: boolean
  /** Editors that got no hooks because nobody could be asked. */
  editorsWithoutHooks: readonly string[]
}

export function reportNextSteps(
  say: PrintLine,
  outcomes: FileOutcome[],
  { command, isProject, startsDaemon, editorsWithoutHooks }: InstallSummary,
): void {
  const isDone = outcomes.some(({ exit }) => exit === 0)
  say('')
  if (!isDone) return say('Nothing was installed.')
  say(outcomes.every(({ exit }) => exit === 0) ? 'Installation complete!' : 'Installation done, but not everywhere.')
  say('')
  say('The relay tools will be available when you start your editor.')
  if (startsDaemon) say('A session starts the relay daemon if none runs. It ends ten minutes after the last session.')
  else say('Make sure the relay daemon is running: agent-relay daemon start')
  if (editorsWithoutHooks.length > 0)
    say(
      `No hooks were added, since nobody could be asked: a message waits until a session of ${listText(editorsWithoutHooks, 'or')} looks for it. To add them: ${command} install --hooks`,
    )
  for (const { name, hooks } of editors)
    if (hooks?.reviewNote !== undefined && outcomes.some(({ what, editor }) => what === 'hooks' && editor === name))
      say(hooks.reviewNote)
  say(`To undo: ${command} uninstall${isProject ? ' --project' : ''}`)
}

function withTilde(path: string): string {
  const home = process.env.HOME ?? homedir()
  return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}
