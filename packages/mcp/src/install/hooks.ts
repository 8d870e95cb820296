// The hooks of each CLI that the installer adds: their file, events and commands. The programs that these commands run are in hooks/, behind the
// shell code of launcher/hook-guard.ts.

import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'
import { clisWith, hookSeconds, inWords, type NameWith, serverName } from '@agent-relay/sdk/internal/clis'
import { shellQuote } from '@agent-relay/sdk/internal/command-words'
import type { Slot } from '../careful/index.ts'
import { pluginPath } from '../hooks/opencode-plugin.ts'
import { launched } from '../launcher/index.ts'
import { type Editor, type InstallContext, inGeminiHome, inHomeBy, joined } from './editors.ts'

export interface InstalledHook {
  file: string
  keyPath: readonly string[]
  slot: Slot
  value: unknown
}

interface HookRule {
  userFile(around: InstallContext): string
  projectFile: readonly string[]
  events: string[]
  /** Makes the entry for the list of its event; without this function the entry is a group with one hook. */
  entry?(command: string, tools?: string): object
  /** The event at which the CLI asks the person for a permission, and waits for the first answer. */
  asks?: string
  /** The events at which a waiter is left beside the session (Claude Code's asyncRewake). */
  waits?: string[]
  /** The event before a tool runs, and the tools that may write files. */
  edits: { event: string; tools?: string }
  /** The CLI asks the person about new hooks, so they are installed only on demand. */
  isAsked?: true
}

const rules: Record<Exclude<NameWith<'hooks'>, 'opencode'>, HookRule> = {
  claude: {
    userFile: inHomeBy('CLAUDE_CONFIG_DIR', '.claude', 'settings.json'),
    projectFile: ['.claude', 'settings.json'],
    events: ['SessionStart', 'UserPromptSubmit', 'Stop'],
    waits: ['SessionStart', 'UserPromptSubmit', 'Stop'],
    asks: 'PermissionRequest',
    edits: { event: 'PreToolUse', tools: 'Write|Edit|MultiEdit|NotebookEdit|Bash' },
  },
  codex: {
    userFile: inHomeBy('CODEX_HOME', '.codex', 'hooks.json'),
    projectFile: ['.codex', 'hooks.json'],
    events: ['SessionStart', 'UserPromptSubmit', 'Stop'],
    edits: { event: 'PreToolUse', tools: 'Bash|apply_patch|Edit|Write' },
    isAsked: true,
  },
  gemini: {
    userFile: inGeminiHome('settings.json'),
    projectFile: ['.gemini', 'settings.json'],
    events: ['SessionStart', 'BeforeAgent', 'AfterAgent', 'PreCompress'],
    edits: { event: 'BeforeTool', tools: 'write_file|replace|run_shell_command' },
    // Gemini CLI shows a hook's name while it runs, and without one the whole command. Its limit of time is in milliseconds.
    entry: (command, matcher) => ({
      ...(matcher === undefined ? {} : { matcher }),
      hooks: [{ name: serverName, type: 'command', command, timeout: hookSeconds * 1000 }],
    }),
  },
  // Copilot reads every file of its hooks folder, so our hooks have a file of their own.
  copilot: {
    userFile: (around) => joined(around, around.home, '.copilot', 'hooks', 'agent-relay.json'),
    projectFile: ['.github', 'hooks', 'agent-relay.json'],
    events: ['sessionStart', 'userPromptSubmitted', 'agentStop'],
    edits: { event: 'preToolUse' },
    entry: (command) => ({ type: 'command', bash: command, timeoutSec: hookSeconds }),
  },
}

const ruleOf = (name: string) => (rules as Partial<Record<string, HookRule>>)[name]

/** Editors whose hooks cost the person nothing: no question of the CLI, nothing on its screen. */
export const freeHookEditors: readonly string[] = clisWith('hooks')
  .map(({ name }) => name)
  .filter((name) => !ruleOf(name)?.isAsked)

/** The question before hooks are added: it names everything that they do, and for how long the CLI may wait for them. */
export function hooksQuestion(asked: readonly Editor[]): string {
  const waking = asked.filter(({ name }) => ruleOf(name)?.waits).map(({ title }) => title)
  const asking = asked.filter(({ name }) => ruleOf(name)?.asks).map(({ title }) => title)
  const titles = asked.map(({ title }) => title)
  return [
    `${inWords(titles, 'and')}: also install hooks?`,
    `- Messages reach a session by themselves: at its start, with each prompt and after each turn, which wait at most ${hookSeconds} s for it.`,
    ...(waking.length > 0
      ? [`- ${inWords(waking, 'and')}: a waiter beside each session wakes it when a message comes.`]
      : []),
    ...(asking.length > 0
      ? [`- ${inWords(asking, 'and')}: its permission questions stand in the relay, too; whoever answers first counts.`]
      : []),
    `- Before an edit: is another agent working on that file? The edit waits at most ${hookSeconds} s for it.`,
    'Install them?',
  ].join('\n')
}

/** The hooks for an editor; empty if it has none of this kind. */
export function hooksOf({ name, userFile }: Editor, around: InstallContext, isProject: boolean): InstalledHook[] {
  // The plugin is a file of this user: it means nothing to others who work on the project.
  if (name === 'opencode' && !isProject) return [pluginEntry(userFile(around), around)]
  const rule = ruleOf(name)
  if (!rule) return []
  const file = isProject ? joined(around, around.project, ...rule.projectFile) : rule.userFile(around)
  const asks = rule.asks === undefined ? [] : [rule.asks]
  return [...rule.events, rule.edits.event, ...asks].map((event) => ({
    file,
    keyPath: ['hooks', event],
    slot: { mark: ` hook ${event} --cli ${name}` },
    value: entryOf(event, name, rule, around),
  }))
}

function entryOf(event: string, name: string, rule: HookRule, around: InstallContext): object {
  const command = commandOf([event, '--cli', name], around)
  const tools = event === rule.edits.event ? rule.edits.tools : undefined
  if (rule.entry) return rule.entry(command, tools)
  const now = { type: 'command', command, timeout: event === rule.asks ? waitSeconds : hookSeconds }
  const matcher = tools === undefined ? {} : { matcher: tools }
  return { ...matcher, hooks: [now, ...(rule.waits?.includes(event) ? [waiter(event, name, around)] : [])] }
}

/** opencode has no hooks of this kind, but a plugin that does the same. */
function pluginEntry(file: string, { env }: InstallContext): InstalledHook {
  const path = pluginPath(env)
  return { file, keyPath: ['plugin'], slot: { mark: basename(path) }, value: pathToFileURL(path).href }
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
