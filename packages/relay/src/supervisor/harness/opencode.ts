// The harness of opencode: an environment variable holds its configuration, with our MCP server and the opencode agent profile that the worker runs
// under. opencode/server.ts is the client of opencode's own HTTP server.

import { createHash } from 'node:crypto'
import { z } from 'zod'
import { opencodeCliServer } from '../opencode/server.ts'
import {
  escapeKey,
  type Harness,
  hasFlag,
  type LaunchContext,
  mcpServerEnvironment,
  mcpServerName,
  type ScreenPatterns,
  terminalFields,
} from './harness.ts'

/** How the screen of opencode 1.18.18 looks in each state. Its title does not show the state. */
const signs: ScreenPatterns = {
  blocked: { line: /\bAllow once\s+Allow always\s+Reject\b/, lines: 4 },
  busy: { line: /\besc (?:again to )?interrupt\b/ },
  idle: { line: /\bctrl\+p commands\b/, lines: 3 },
}

/** Options with which the user's arguments choose the conversation or opencode's server, so that the relay cannot. */
const conversationFlags = ['--session', '-s', '--continue', '-c', '--fork', '--port']

type Json = Record<string, unknown>

export const opencodeHarness: Harness = {
  ...terminalFields('opencode', signs),
  install: 'npm install -g opencode-ai',
  variables: [
    ...['OPENCODE_CONFIG', 'OPENCODE_CONFIG_DIR', 'OPENCODE_CONFIG_CONTENT', 'OPENCODE_DISABLE_AUTOUPDATE'],
    ...['OPENCODE_DISABLE_MODELS_FETCH', 'OPENCODE_DISABLE_LSP_DOWNLOAD'],
  ],
  interruptKeys: [escapeKey, escapeKey],
  bringsOwnMcp: (args) => hasFlag(args, '--agent'),
  canContinue: (args) => !conversationFlags.some((flag) => hasFlag(args, flag)),
  conversationIds: /^ses_\w+$/,
  launch(context) {
    const { isInjected, port, conversation } = context
    const args = [
      ...(isInjected ? ['--agent', mcpServerName] : []),
      ...(port === undefined || hasFlag(context.args, '--port') ? [] : ['--port', String(port)]),
      ...(conversation ? ['--session', conversation.id] : []),
      ...(context.model === undefined ? [] : ['-m', context.model]),
      ...context.args,
    ]
    return {
      args,
      env: {
        ...(isInjected ? { OPENCODE_CONFIG_CONTENT: JSON.stringify(configuration(context)) } : {}),
        ...(port === undefined ? {} : { OPENCODE_SERVER_PASSWORD: password(context) }),
      },
    }
  },
  needsPort: true,
  cliServer(context) {
    const { port, args } = context
    if (port === undefined || hasFlag(args, '--port')) return undefined
    return opencodeCliServer({ port, secret: password(context), agent: agentOf(context) })
  },
}

/** Returns our configuration merged with the user's own value of the same variable, which it would replace otherwise. */
function configuration({ env, server }: LaunchContext): Json {
  const own = parse(env.OPENCODE_CONFIG_CONTENT)
  const command = [server.command, ...server.args]
  const entry = { type: 'local', command, environment: mcpServerEnvironment, enabled: true }
  const agent = { mode: 'primary', description: 'Works with other agents through Agent Relay' }
  return {
    ...own,
    mcp: { ...(own.mcp as Json | undefined), [mcpServerName]: entry },
    agent: { ...(own.agent as Json | undefined), [mcpServerName]: agent },
  }
}

function parse(content: string | undefined): Json {
  if (content === undefined || content.trim() === '') return {}
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(content))
  } catch {
    throw new Error('OPENCODE_CONFIG_CONTENT is not a JSON object: the relay cannot add to it')
  }
}

/**
 * The server's password, so that not everybody on this machine can talk to the worker. It is derived from the worker's token: whoever can read
 * one can read the other.
 */
function password({ identity, directory }: LaunchContext): string {
  return createHash('sha256')
    .update(`${identity.RELAY_AGENT_TOKEN ?? ''}\n${directory}`)
    .digest('hex')
}

/**
 * Returns the opencode agent profile that the worker was started with. A message without a profile goes to opencode's default, which may edit files
 * where the chosen profile only reads.
 */
function agentOf({ isInjected, args }: LaunchContext): string | undefined {
  if (isInjected) return mcpServerName
  const at = args.findIndex((arg) => /^--agent(=|$)/.test(arg))
  return at < 0 ? undefined : (args[at]?.split('=', 2)[1] ?? args[at + 1])
}
