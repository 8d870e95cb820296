// Hooks that are commands in a settings file, as most CLIs have them: their events, and the entry for each event. The programs that these commands run are
// in hooks/, behind the shell code of launcher/hook-guard.ts.

import { hookSeconds, type NameWith } from '@agent-relay/sdk/internal/clis'
import { shellQuote } from '@agent-relay/sdk/internal/command-words'
import { launched } from '../launcher/index.ts'
import type { HooksRule } from './editor-rule.ts'
import { type InstallContext, joined, type Path } from './paths.ts'

interface CommandHooks {
  userFile: Path
  /** The parts of the file's path in a project. */
  projectFile: readonly string[]
  events: readonly string[]
  /** Makes the entry for the list of its event; without this function the entry is a group with one hook. */
  entry?(command: string, tools?: string): object
  /** The event at which the CLI asks the person for a permission, and waits for the first answer. */
  asks?: string
  /** The events at which a waiter is left beside the session (Claude Code's asyncRewake). */
  waits?: readonly string[]
  /** The event before a tool runs, and the tools that may write files. */
  edits: { event: string; tools?: string }
}

export function commandHooks(cli: NameWith<'hooks'>, rule: CommandHooks): HooksRule {
  const { userFile, projectFile, events, asks, waits, edits } = rule
  return {
    wakes: waits !== undefined,
    asks: asks !== undefined,
    entries: (around, isProject) => {
      const file = isProject ? joined(around, around.project, ...projectFile) : userFile(around)
      return [...events, edits.event, ...(asks === undefined ? [] : [asks])].map((event) => ({
        file,
        keyPath: ['hooks', event],
        slot: { mark: ` hook ${event} --cli ${cli}` },
        value: entryOf(event, cli, rule, around),
      }))
    },
  }
}

function entryOf(event: string, cli: string, rule: CommandHooks, around: InstallContext): object {
  const command = commandOf([event, '--cli', cli], around)
  const tools = event === rule.edits.event ? rule.edits.tools : undefined
  if (rule.entry) return rule.entry(command, tools)
  const now = { type: 'command', command, timeout: event === rule.asks ? waitSeconds : hookSeconds }
  const matcher = tools === undefined ? {} : { matcher: tools }
  return { ...matcher, hooks: [now, ...(rule.waits?.includes(event) ? [waiter(event, cli, around)] : [])] }
}

/** The time limit of a waiter, the longest that a timer of the host can take: a waiter ends with its session. */
const waitSeconds = 24 * 24 * 60 * 60

function waiter(event: string, cli: string, around: InstallContext): object {
  const command = commandOf(['wait', '--cli', cli, event], around)
  return { type: 'command', command, asyncRewake: true, timeout: waitSeconds }
}

/** The command of a hook for a shell. Without our launcher it does nothing and prints nothing. */
function commandOf(words: string[], { env }: InstallContext): string {
  const { command, args } = launched(['hook', ...words], env)
  const quotedWords = [command, ...args].map(shellWord)
  const line = quotedWords.join(' ')
  return process.platform === 'win32' ? line : `[ -x ${quotedWords[0]} ] || exit 0; exec ${line}`
}

/** One word of a command that a shell runs or a person pastes. */
export function shellWord(word: string): string {
  const quoted = shellQuote(word)
  return process.platform === 'win32' && quoted !== word ? `"${word}"` : quoted
}
