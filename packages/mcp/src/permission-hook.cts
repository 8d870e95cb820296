// `agent-relay-mcp hook PermissionRequest`: what Claude Code runs while its permission dialog is open. It asks the queue of approvals, and prints
// the answer if somebody gives one there first. Whoever answers at the terminal is quicker then: Claude Code tells nobody, so it is read from the
// session's own transcript and from the processes of the host, and the queue is told. If anything goes wrong, the hook says nothing, and the
// dialog works as without us. Loaded in the time of a bare Node, like the other hooks.

import { createHash } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { askedText } from '@agent-relay/sdk/internal/asked'
import { reachDaemon, setting } from '@agent-relay/sdk/internal/discover'
import { stdinText } from './edit-hook.cts'
import { hosts } from './hook-host.cts'
import { newPipeId } from './pipe/opening.cts'
import { Watched } from './transcript.cts'

export { Watched }

/** How often to look whether it was answered at the terminal. */
const terminalLookMs = 250
/** Of what is sent to the daemon, which cuts it further. */
const inputCharsMax = 256 * 1024
/** A dialog waits for a person anyway; without the call nobody could answer it from elsewhere. */
const permissionCallMs = 30_000

interface Asked {
  tool: string
  input: Record<string, unknown>
  cwd: string
  transcript: string | undefined
  suggestions: Suggestion[]
}

/** A change of the session's permissions that Claude Code proposes. */
interface Suggestion {
  type: string
  destination?: string
  [more: string]: unknown
}

interface Over {
  how: string
  kind?: 'allow' | 'always' | 'deny' | 'other'
  words?: string
}

/** Ends the process by itself. */
export async function permissionHook(): Promise<void> {
  const { env } = process
  const [name, token] = [setting(env, 'RELAY_AGENT_NAME'), setting(env, 'RELAY_AGENT_TOKEN')]
  const asked = askedIn(await stdinText(permissionCallMs))
  if (!asked || (name === undefined && token !== undefined)) process.exit()
  const known = hosts(env.RELAY_HOST)
  const watched = new Watched({ ...asked, host: known[0] })
  try {
    const { socketPath, socket } = await reachDaemon()
    const identity = token === undefined ? { hosts: known } : { token }
    const line = new Line(socket ?? connect(socketPath), identity)
    const key = createHash('sha256').update(newPipeId()).digest('hex').slice(0, 16)
    const over = line.ask({ key, vendor: 'claude', ...shownOf(asked), choices, passesWords: true })
    const look = setInterval(() => {
      const kind = watched.answered()
      if (kind) line.settle({ key, how: 'terminal', kind })
    }, terminalLookMs)
    // Claude Code ends its hook when the person has refused, or has broken off the turn.
    process.on('SIGTERM', () => {
      const kind = watched.answered()
      line.settle(kind ? { key, how: 'terminal', kind } : { key, how: 'cancelled' })
      setTimeout(() => process.exit(), terminalLookMs)
    })
    const answer = decisionOf(await over, asked)
    clearInterval(look)
    if (!answer) process.exit()
    const output = { hookSpecificOutput: { hookEventName: 'PermissionRequest', decision: answer } }
    process.stdout.write(`${JSON.stringify(output)}\n`, () => process.exit())
  } catch {
    process.exit()
  }
}

const choices = [
  { id: 'allow', kind: 'allow' },
  { id: 'always', kind: 'always' },
  { id: 'deny', kind: 'deny' },
]

function askedIn(text: string): Asked | undefined {
  try {
    const { tool_name: tool, tool_input: input, cwd, transcript_path, permission_suggestions } = JSON.parse(text)
    if (typeof tool !== 'string' || typeof input !== 'object' || input === null) return undefined
    return {
      tool,
      input,
      cwd: typeof cwd === 'string' ? cwd : process.cwd(),
      transcript: typeof transcript_path === 'string' ? transcript_path : undefined,
      suggestions: Array.isArray(permission_suggestions) ? permission_suggestions : [],
    }
  } catch {
    return undefined
  }
}

function shownOf({ tool, input, cwd }: Asked): { tool: string; input: string; inputChars: number; directory: string } {
  const text = askedText({ input })
  return { tool, input: text.slice(0, inputCharsMax), inputChars: text.length, directory: cwd }
}

/** Undefined where nobody has answered here. */
function decisionOf({ how, kind, words }: Over, asked: Asked): object | undefined {
  if (how !== 'answered') return undefined
  if (kind === 'allow') return { behavior: 'allow' }
  if (kind === 'always') return { behavior: 'allow', updatedPermissions: forSession(asked) }
  return kind === 'deny' ? { behavior: 'deny', message: words ?? 'A person said no.' } : undefined
}

/** What Claude Code proposes, for this session alone: no file is written. Without a proposal, this very call. */
function forSession({ tool, input, suggestions }: Asked): object[] {
  if (suggestions.length > 0) return suggestions.map((each) => ({ ...each, destination: 'session' }))
  const rule = typeof input.command === 'string' ? { toolName: tool, ruleContent: input.command } : { toolName: tool }
  return [{ type: 'addRules', rules: [rule], behavior: 'allow', destination: 'session' }]
}

/** As much of the protocol as this hook needs. Without the daemon there is nothing to wait for. */
class Line {
  readonly #socket: Socket
  readonly #welcome: Promise<unknown>
  readonly #awaited = new Map<string, (payload: never) => void>()

  constructor(socket: Socket, identity: object) {
    this.#socket = socket
    let text = ''
    socket.on('error', () => process.exit()).on('close', () => process.exit())
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (text + chunk).split('\n')
      text = lines.pop() as string
      for (const line of lines) this.#hear(JSON.parse(line))
    })
    this.#welcome = this.#say('HELLO', identity)
  }

  async ask(input: object): Promise<Over> {
    await this.#welcome
    return this.#say('CALL', { op: 'approval.ask', input }) as Promise<Over>
  }

  settle(input: object): void {
    void this.#say('CALL', { op: 'approval.settle', input })
  }

  #say(type: 'HELLO' | 'CALL', payload: object): Promise<unknown> {
    const id = newPipeId()
    this.#socket.write(`${JSON.stringify({ v: 1, type, id, ts: Date.now(), payload })}\n`)
    return new Promise((resolve) => this.#awaited.set(id, resolve))
  }

  #hear({ id, type, payload }: { id: string; type: string; payload: never }): void {
    if (type === 'ERROR') process.exit()
    this.#awaited.get(id)?.(payload)
  }
}
