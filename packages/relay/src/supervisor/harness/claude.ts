// The harness of Claude Code: --mcp-config adds our MCP server, and --settings adds hooks that hand over messages, so that nothing has to be typed into it.

import { join } from 'node:path'
import { hookTimeoutSeconds } from '@agent-relay/sdk/internal/clis'
import { shellQuote } from '@agent-relay/sdk/internal/command-words'
import {
  type Harness,
  hasFlag,
  type LaunchContext,
  mcpServerEnvironment,
  mcpServerName,
  type ScreenPatterns,
  terminalFields,
} from './harness.ts'

/** How the screen of Claude Code 2.1.325 looks in each state. */
const signs: ScreenPatterns = {
  blocked: { line: /\bEsc to cancel\b/ },
  busy: { title: /^[◐◑◒◓⠂-⣿]/u, line: /\besc to interrupt\b/ },
  idle: { title: /^✳/u },
}

/** Options with which the user's arguments choose the conversation, so that the relay cannot. */
const conversationFlags = [
  '--session-id',
  '--resume',
  '-r',
  '--continue',
  '-c',
  '--from-pr',
  '--no-session-persistence',
]

/** Tools that may write files: a hook asks the relay before each call of one of them. */
const editTools = 'Write|Edit|MultiEdit|NotebookEdit|Bash'
/** Timeout in seconds of the hooks that wait: a waiter, which ends with its session anyway, and a permission request. */
const waitSeconds = 24 * 60 * 60

export const claudeHarness: Harness = {
  ...terminalFields('claude', signs),
  install: 'npm install -g @anthropic-ai/claude-code',
  variables: [
    ...['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_BASE_URL', 'ANTHROPIC_MODEL', 'CLAUDE_CONFIG_DIR'],
    ...['CLAUDE_CODE_OAUTH_TOKEN', 'CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX', 'AWS_BEARER_TOKEN_BEDROCK'],
    ...['CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC', 'CLAUDE_CODE_SANDBOXED', 'DISABLE_TELEMETRY', 'IS_SANDBOX'],
    ...['DISABLE_ERROR_REPORTING', 'DISABLE_AUTOUPDATER'],
  ],
  hookGraceMs: 2_000,
  bringsOwnMcp: (args) => args.some((arg) => arg.includes('mcp-config')),
  canContinue: (args) => !conversationFlags.some((flag) => hasFlag(args, flag)),
  launch(context) {
    const model = [...conversationArgs(context), ...(context.model === undefined ? [] : ['--model', context.model])]
    if (!context.isInjected) return { args: [...model, ...context.args], env: {} }
    const [mcp, settings] = ['mcp.json', 'settings.json'].map((name) => join(context.directory, name)) as [
      string,
      string,
    ]
    const { command, args } = context.server
    // Claude Code does not merge two --settings: if the user gives one, our hooks are left out, and messages are typed instead.
    const isHooked = !hasFlag(context.args, '--settings')
    const files = [
      {
        path: mcp,
        text: json({
          mcpServers: {
            [mcpServerName]: { type: 'stdio', command, args, env: mcpServerEnvironment, alwaysLoad: true },
          },
        }),
      },
    ]
    if (isHooked) files.push({ path: settings, text: json({ hooks: hooksOf(context) }) })
    return {
      // The first two flags take all values that follow, so the next argument has to be a flag: one of ours with a single value, or one of the user's.
      args: [
        '--mcp-config',
        mcp,
        '--allowedTools',
        `mcp__${mcpServerName}__*`,
        ...(isHooked ? ['--settings', settings] : []),
        ...model,
        ...withSeparator(isHooked || model.length > 0, context.args),
      ],
      env: {},
      files,
    }
  },
}

function conversationArgs({ conversation }: LaunchContext): string[] {
  return conversation ? [conversation.isContinued ? '--resume' : '--session-id', conversation.id] : []
}

/** Puts `--` before a prompt that would follow a flag that takes many values: the prompt would count as one more value. */
function withSeparator(isApart: boolean, args: readonly string[]): readonly string[] {
  return isApart || args.length === 0 || args[0]?.startsWith('-') ? args : ['--', ...args]
}

/**
 * Hooks that hand over waiting messages at the boundaries of a turn, and a waiter that wakes an idle session (asyncRewake: exit code 2, text on
 * stderr). Claude Code is their parent process, by which the daemon recognises the waiter; the last argument, `--worker`, distinguishes these hooks
 * from those in the user's own settings.
 */
function hooksOf({ hook }: LaunchContext): Record<string, unknown> {
  const command = (event: string, ...more: string[]) =>
    `exec ${[hook.command, ...hook.args, event, '--cli', 'claude', ...more, '--worker'].map(shellQuote).join(' ')}`
  const now = (event: string) => ({ type: 'command', command: command(event), timeout: hookTimeoutSeconds })
  const wait = (event: string) => ({
    type: 'command',
    command: command('wait', event),
    asyncRewake: true,
    timeout: waitSeconds,
  })
  const on = (...hooks: object[]) => [{ hooks }]
  return {
    SessionStart: on(now('SessionStart'), wait('SessionStart')),
    UserPromptSubmit: on(now('UserPromptSubmit'), wait('UserPromptSubmit')),
    PreToolUse: [{ matcher: editTools, hooks: [now('PreToolUse')] }],
    PostToolUse: on(now('PostToolUse')),
    PermissionRequest: on({ ...now('PermissionRequest'), timeout: waitSeconds }),
    Stop: on(now('Stop'), wait('Stop')),
  }
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
