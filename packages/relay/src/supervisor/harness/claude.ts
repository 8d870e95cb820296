// Claude Code: MCP by --mcp-config, messages by its hooks (given with --settings), so that nothing has to be typed into it.

import { join } from 'node:path'
import {
  ctrlC,
  type Harness,
  hasFlag,
  type LaunchContext,
  readSigns,
  type Signs,
  serverEnvironment,
  serverName,
} from './harness.ts'

/** Of 2.1.325. */
const signs: Signs = {
  blocked: { line: /\bEsc to cancel\b/ },
  busy: { title: /^[◐◑◒◓⠂-⣿]/u, line: /\besc to interrupt\b/ },
  idle: { title: /^✳/u },
}

/** A waiter that was started long ago is of no harm: it ends with its session. */
const waitSeconds = 24 * 60 * 60
/** A turn waits for these hooks: they must not hold it up when the daemon is busy. */
const hookSeconds = 5

export const claude: Harness = {
  name: 'claude',
  program: 'claude',
  install: 'npm install -g @anthropic-ai/claude-code',
  hasMcp: true,
  typing: { enterDelayMs: 100 },
  exitKeys: [ctrlC, ctrlC],
  toolPrefix: `mcp__${serverName}__`,
  hookGraceMs: 2_000,
  bringsOwnMcp: (args) => args.some((arg) => arg.includes('mcp-config')),
  read: (view) => readSigns(signs, view),
  launch(context) {
    const model = context.model === undefined ? [] : ['--model', context.model]
    if (!context.isInjected) return { args: [...model, ...context.args], env: {} }
    const [mcp, settings] = ['mcp.json', 'settings.json'].map((name) => join(context.directory, name)) as [
      string,
      string,
    ]
    const { command, args } = context.server
    // Two --settings are not merged: the user's own go before our hooks, and messages are typed then.
    const isHooked = !hasFlag(context.args, '--settings')
    const files = [
      {
        path: mcp,
        text: json({
          mcpServers: { [serverName]: { type: 'stdio', command, args, env: serverEnvironment, alwaysLoad: true } },
        }),
      },
    ]
    if (isHooked) files.push({ path: settings, text: json({ hooks: hooksOf(context) }) })
    return {
      // The first two flags take as many values as follow: one that takes a single value, or a flag of the user's, must come next.
      args: [
        '--mcp-config',
        mcp,
        '--allowedTools',
        `mcp__${serverName}__*`,
        ...(isHooked ? ['--settings', settings] : []),
        ...model,
        ...separated(isHooked || model.length > 0, context.args),
      ],
      env: {},
      files,
    }
  },
}

/** A prompt right behind a flag that takes many values would be one more value. */
function separated(isApart: boolean, args: readonly string[]): readonly string[] {
  return isApart || args.length === 0 || args[0]?.startsWith('-') ? args : ['--', ...args]
}

/** At every turn's boundary what waits is handed over; in between one waiter wakes an idle session (asyncRewake: exit 2, text on stderr). */
function hooksOf({ hook }: LaunchContext): Record<string, unknown> {
  const command = (event: string) => [hook.command, ...hook.args, event].map(quoted).join(' ')
  const now = (event: string) => ({ type: 'command', command: command(event), timeout: hookSeconds })
  const wait = { type: 'command', command: command('wait'), asyncRewake: true, timeout: waitSeconds }
  const on = (...hooks: object[]) => [{ hooks }]
  return {
    SessionStart: on(now('SessionStart'), wait),
    UserPromptSubmit: on(now('UserPromptSubmit')),
    PostToolUse: on(now('PostToolUse')),
    Stop: on(now('Stop'), wait),
  }
}

/** For the shell that runs a hook. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
