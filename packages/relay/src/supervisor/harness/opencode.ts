// opencode: MCP by configuration in its environment, an agent of ours to run as, and its HTTP server as its own door for messages.

import { createHash } from 'node:crypto'
import {
  ctrlC,
  type Harness,
  hasFlag,
  known,
  type LaunchContext,
  readSigns,
  type Signs,
  serverEnvironment,
  serverName,
} from './harness.ts'

/** Signs of version 1.18.18. Its title says nothing. */
const signs: Signs = {
  blocked: { line: /\bAllow once\s+Allow always\s+Reject\b/, lines: 4 },
  busy: { line: /\besc (?:again to )?interrupt\b/ },
  idle: { line: /\bctrl\+p commands\b/, lines: 3 },
}

/** Its own door is on loopback and answers at once, or not at all. */
const doorMs = 3_000

type Json = Record<string, unknown>

export const opencode: Harness = {
  ...known('opencode'),
  install: 'npm install -g opencode-ai',
  typing: { enterDelayMs: 100 },
  exitKeys: [ctrlC, ctrlC],
  bringsOwnMcp: (args) => hasFlag(args, '--agent'),
  read: (view) => readSigns(signs, view),
  launch(context) {
    const { isInjected, port } = context
    const args = [
      ...(isInjected ? ['--agent', serverName] : []),
      ...(port === undefined || hasFlag(context.args, '--port') ? [] : ['--port', String(port)]),
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
  ownDoor: (context) => ({ send: (text) => send(context, text) }),
}

/** Merged with the user's own value, which would be replaced otherwise. */
function configuration({ env, server }: LaunchContext): Json {
  const own = parse(env.OPENCODE_CONFIG_CONTENT)
  const command = [server.command, ...server.args]
  const entry = { type: 'local', command, environment: serverEnvironment, enabled: true }
  const agent = { mode: 'primary', description: 'Works with other agents through Agent Relay' }
  return {
    ...own,
    mcp: { ...(own.mcp as Json | undefined), [serverName]: entry },
    agent: { ...(own.agent as Json | undefined), [serverName]: agent },
  }
}

function parse(content: string | undefined): Json {
  if (content === undefined || content.trim() === '') return {}
  try {
    return JSON.parse(content)
  } catch {
    throw new Error('OPENCODE_CONFIG_CONTENT is not JSON: the relay cannot add to it')
  }
}

/** A password, so that not everybody on this machine can talk to the worker. Made from its token: whoever can read one can read the other. */
function password({ identity, directory }: LaunchContext): string {
  return createHash('sha256')
    .update(`${identity.RELAY_AGENT_TOKEN ?? ''}\n${directory}`)
    .digest('hex')
}

/** Sends to the session that was used last. Before the first session, the prompt is filled in and submitted instead. */
async function send(context: LaunchContext, text: string): Promise<boolean> {
  if (context.port === undefined || hasFlag(context.args, '--port')) return false
  const ask = asker(context.port, password(context))
  try {
    const sessions = (await ask('GET', '/session')) as { id: string; parentID?: string; time?: { updated?: number } }[]
    const [newest] = sessions
      .filter(({ parentID }) => parentID === undefined)
      .sort((a, b) => (b.time?.updated ?? 0) - (a.time?.updated ?? 0))
    if (newest) {
      const body = { agent: agentOf(context), parts: [{ type: 'text', text }] }
      await ask('POST', `/session/${newest.id}/prompt_async`, body)
    } else {
      await ask('POST', '/tui/append-prompt', { text })
      await ask('POST', '/tui/submit-prompt', {})
    }
    return true
  } catch {
    return false
  }
}

/** The agent of opencode that the worker was started as. Without it opencode takes its default, which may edit where that one only reads. */
function agentOf({ isInjected, args }: LaunchContext): string | undefined {
  if (isInjected) return serverName
  const at = args.findIndex((arg) => /^--agent(=|$)/.test(arg))
  return at < 0 ? undefined : (args[at]?.split('=', 2)[1] ?? args[at + 1])
}

function asker(port: number, secret: string) {
  const authorization = `Basic ${Buffer.from(`opencode:${secret}`).toString('base64')}`
  return async (method: string, path: string, body?: object): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(doorMs),
    })
    if (!response.ok) throw new Error(`opencode answered ${response.status}`)
    const answer = await response.text()
    return answer === '' ? undefined : JSON.parse(answer)
  }
}
