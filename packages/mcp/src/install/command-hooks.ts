// Hooks that are commands in a settings file, as most CLIs have them: their events, and the entry for each event. The programs that these commands run are
// in hooks/, behind the shell code of launcher/hook-guard.ts.

import { type CliNameWith, hookTimeoutSeconds } from '@agent-relay/sdk/internal/clis'
import { shellQuote } from '@agent-relay/sdk/internal/command-words'
import { launcherCommand } from '../launcher/index.ts'
import type { HooksRule } from './editor-rule.ts'
import { type InstallContext, joinPath, type PathResolver } from './paths.ts'

interface CommandHooksRule {
  userFile: PathResolver
  /** The path of the settings file in a project, as its parts. */
  projectFile: readonly string[]
  events: readonly string[]
  /** Makes the entry of one event. If unset, the entry has the format of Claude Code: a group with the hook. */
  entry?(command: string, tools?: string): object
  /** The event at which the CLI asks the person for a permission, and waits for the first answer. */
  permissionEvent?: string
  /** The events at which a waiter is started: a process beside the session that wakes it for messages (Claude Code's asyncRewake). */
  waiterEvents?: readonly string[]
  /** The event before a tool runs, and the tools that may write files. */
  beforeEdit: { event: string; tools?: string }
}

export function commandHooks(cli: CliNameWith<'hooks'>, rule: CommandHooksRule): HooksRule {
  const { userFile, projectFile, events, permissionEvent, waiterEvents, beforeEdit } = rule
  return {
    wakesSessions: waiterEvents !== undefined,
    asksPermissions: permissionEvent !== undefined,
    entries: (context, isProject) => {
      const file = isProject ? joinPath(context, context.project, ...projectFile) : userFile(context)
      return [...events, beforeEdit.event, ...(permissionEvent === undefined ? [] : [permissionEvent])].map(
        (event) => ({
          file,
          keyPath: ['hooks', event],
          slot: { mark: ` hook ${event} --cli ${cli}` },
          value: hookEntry(event, cli, rule, context),
        }),
      )
    },
  }
}

function hookEntry(event: string, cli: string, rule: CommandHooksRule, context: InstallContext): object {
  const command = hookCommand([event, '--cli', cli], context)
  const tools = event === rule.beforeEdit.event ? rule.beforeEdit.tools : undefined
  if (rule.entry) return rule.entry(command, tools)
  const now = { type: 'command', command, timeout: event === rule.permissionEvent ? waitSeconds : hookTimeoutSeconds }
  const matcher = tools === undefined ? {} : { matcher: tools }
  return { ...matcher, hooks: [now, ...(rule.waiterEvents?.includes(event) ? [waiterHook(event, cli, context)] : [])] }
}

/** Timeout in seconds of a waiter and of the permission hook: 24 days, near the longest that a timer of the CLI can have. Both end by themselves. */
const waitSeconds = 24 * 24 * 60 * 60

function waiterHook(event: string, cli: string, context: InstallContext): object {
  const command = hookCommand(['wait', '--cli', cli, event], context)
  return { type: 'command', command, asyncRewake: true, timeout: waitSeconds }
}

/** The command of a hook for a shell. Without our launcher it does nothing and prints nothing. */
function hookCommand(words: string[], { env }: InstallContext): string {
  const { command, args } = launcherCommand(['hook', ...words], env)
  const quotedWords = [command, ...args].map(shellWord)
  const line = quotedWords.join(' ')
  return process.platform === 'win32' ? line : `[ -x ${quotedWords[0]} ] || exit 0; exec ${line}`
}

/** One word of a command that a shell runs or a person pastes. */
export function shellWord(word: string): string {
  const quoted = shellQuote(word)
  return process.platform === 'win32' && quoted !== word ? `"${word}"` : quoted
}
