// What a person, or with `--json` a program, is told of an installation.

import { homedir } from 'node:os'
import { editors } from './editors/index.ts'
import type { Outcome } from './install.ts'

export type Say = (text: string) => void

const supported = (): string => editors.map(({ name }) => name).join(', ')

export function noneDetected(say: Say, command: string): void {
  say('No supported editors detected.')
  say(`Supported editors: ${supported()}`)
  say('')
  say(`Specify manually with: ${command} install --editor <name>`)
}

export function unknownEditor(say: Say, name: string): void {
  say(`Unknown editor: ${name}`)
  say(`Supported editors: ${supported()}`)
}

export function outcomeLines(outcome: Outcome, isInstall: boolean): string[] {
  const { title, what, file, why, snippet, note } = outcome
  const subject = what === 'hooks' ? `${title} hooks` : title
  const where = file === undefined ? '' : homely(file)
  if (outcome.exit !== 0) {
    const paste = snippet ? [' Paste this yourself:', ...snippet.split('\n').map((line) => `      ${line}`)] : ['']
    const [end, ...block] = paste
    return [`  ✗ ${subject}: ${where}${where ? ': ' : ''}${why}. Nothing was changed.${end}`, ...block]
  }
  const line = `  ✓ ${subject} ${isInstall ? installed(outcome, where) : uninstalled(outcome, where)}`
  return [line, ...(note && isInstall ? [`      ${note}`] : [])]
}

function installed({ status }: Outcome, where: string): string {
  return status === 'unchanged' ? `configured already (${where})` : `configured (${where})`
}

function uninstalled({ status }: Outcome, where: string): string {
  if (status === 'unchanged') return `had nothing of ours (${where})`
  return status === 'removed' ? `removed, and ${where}, which was made for it` : `removed (${where})`
}

export function afterInstall(say: Say, outcomes: Outcome[], command: string, isProject: boolean): void {
  const isDone = outcomes.some(({ exit }) => exit === 0)
  say('')
  if (!isDone) return say('Nothing was installed.')
  say(outcomes.every(({ exit }) => exit === 0) ? 'Installation complete!' : 'Installation done, but not everywhere.')
  say('')
  say('The relay tools will be available when you start your editor.')
  say('Make sure the relay daemon is running: agent-relay daemon start')
  if (outcomes.some(({ what, editor }) => what === 'hooks' && editor === 'codex'))
    say('Codex asks you to review the new hooks when it starts.')
  say(`To undo: ${command} uninstall${isProject ? ' --project' : ''}`)
}

function homely(path: string): string {
  const home = process.env.HOME ?? homedir()
  return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}
