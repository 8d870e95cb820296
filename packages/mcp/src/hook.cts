// `agent-relay-mcp hook EVENT`: what an agent's CLI runs at the boundaries of a turn. It takes the messages that wait for the agent and prints
// them as that event wants it; with nothing to say it says nothing, and whatever goes wrong, the host never notices. `hook wait` stays until
// there is one. Loaded in the time of a bare Node, like the pipe: `node:` modules, discovery and the text form only.

import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { reachDaemon, setting } from '@agent-relay/sdk/discover'
import { type InjectedMessage, injectionText } from '@agent-relay/sdk/injection'
import { newPipeId } from './pipe/hello.cts'

/** How each CLI's model sees our tools, and whether the CLI puts a hook's text into tags of its own. */
const clis: Record<string, { toolPrefix: string; isBare: boolean }> = {
  claude: { toolPrefix: 'mcp__agent-relay__', isBare: true },
  codex: { toolPrefix: 'mcp__agent_relay__', isBare: false },
  gemini: { toolPrefix: 'mcp_agent-relay_', isBare: true },
}

/** The turn is over at these: to go on it must be kept from stopping. At all others the text is added to what the model sees. */
const stops = ['Stop', 'SubagentStop', 'AfterAgent']
/** A new session has not seen what an earlier one was shown. */
const begins = ['SessionStart']

/** The turn waits for us, and a daemon answers within milliseconds or is in trouble. */
const answerMs = 3_000
/** A host, a shell or two: more is somebody else. */
const ancestorsMax = 8
/** One wait of many. */
const waitMs = 600_000
/** A host that is gone leaves its waiter to another parent: looked for this often. */
const parentMs = 5_000
/** Claude Code puts a longer context than 10,000 characters into a file: what does not fit comes at the end of the turn, which has room. */
const contextRoom = { limit: 8, bytesMax: 6 * 1024 }

/** Ends the process by itself. */
export async function hook(event: string, cli = 'claude'): Promise<void> {
  const env = process.env
  const [name, token] = [setting(env, 'RELAY_AGENT_NAME'), setting(env, 'RELAY_AGENT_TOKEN')]
  const form = clis[cli]
  // A worker has both; a person's own session has neither, and is known by its host. One alone is a mistake.
  if (form === undefined || (name === undefined) !== (token === undefined)) return
  try {
    const { socketPath, socket } = await reachDaemon()
    const line = new Line(socket ?? connect(socketPath), token === undefined ? { hosts: ancestors() } : { token })
    if (event === 'wait') await wake(line, form)
    else await show(line, event, form)
  } catch {
    process.exit(0)
  }
}

/**
 * The processes above this one: the same host started the agent's MCP server, so the daemon knows whom a hook without a token speaks for.
 * Elsewhere than on Linux only the parent is known, which is the host itself where it runs its hooks without a shell.
 */
function ancestors(): number[] {
  const found = [process.ppid]
  try {
    while (found.length < ancestorsMax) {
      const stat = readFileSync(`/proc/${found.at(-1)}/stat`, 'latin1')
      // The name in it may hold anything, brackets and blanks too: what follows is behind the last bracket.
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
      if (!(parent > 1)) break
      found.push(parent)
    }
  } catch {}
  return found
}

/** Printed first, then said to be before the agent: what is lost in between is offered again, never taken for read. */
async function show(line: Line, event: string, form: (typeof clis)[string]): Promise<void> {
  setTimeout(() => process.exit(0), answerMs).unref()
  const isStop = stops.includes(event)
  const messages = await line.take({ again: begins.includes(event), ...(isStop ? {} : contextRoom) })
  if (messages.length === 0) process.exit(0)
  const text = injectionText(messages, form)
  const output = isStop
    ? { decision: 'block', reason: text }
    : { hookSpecificOutput: { hookEventName: event, additionalContext: text } }
  process.stdout.write(`${JSON.stringify(output)}\n`, () => line.offered(messages).finally(() => process.exit(0)))
}

/** Claude Code's asyncRewake: exit code 2 wakes the session, which sees what stands on stderr. */
async function wake(line: Line, form: (typeof clis)[string]): Promise<void> {
  const parent = process.ppid
  setInterval(() => process.ppid !== parent && process.exit(0), parentMs)
  for (;;) {
    const asked = Date.now()
    const messages = await line.take({ wait: waitMs })
    if (messages.length > 0 && process.ppid === parent) {
      process.stderr.write(`${injectionText(messages, form)}\n`, () =>
        line.offered(messages).finally(() => process.exit(2)),
      )
      return
    }
    // Ended before its time: a newer waiter has come, or the daemon stops.
    if (messages.length > 0 || Date.now() - asked < waitMs) process.exit(0)
  }
}

/** As much of the protocol as a hook needs: HELLO, then one call after the other. */
class Line {
  readonly #socket: Socket
  readonly #welcome: Promise<unknown>
  readonly #awaited = new Map<string, { resolve(payload: unknown): void; reject(): void }>()

  constructor(socket: Socket, identity: { token: string } | { hosts: number[] }) {
    this.#socket = socket
    // The pieces of a large answer are joined once.
    let pieces: Buffer[] = []
    socket.on('data', (chunk) => {
      pieces.push(chunk)
      if (!chunk.includes(10)) return
      const lines = Buffer.concat(pieces).toString().split('\n')
      pieces = [Buffer.from(lines.pop() as string)]
      for (const line of lines) this.#hear(JSON.parse(line))
    })
    // Gone, and with it the one who could tell us anything.
    socket.on('error', () => process.exit(0)).on('close', () => process.exit(0))
    this.#welcome = this.#ask('HELLO', identity)
  }

  async take(how: { again?: boolean; wait?: number; limit?: number; bytesMax?: number }): Promise<InjectedMessage[]> {
    await this.#welcome
    const input = { route: 'hook', ...how }
    return ((await this.#ask('CALL', { op: 'inbox.take', input })) as { messages: InjectedMessage[] }).messages
  }

  async offered(messages: InjectedMessage[]): Promise<void> {
    const input = { route: 'hook', messages: messages.map(({ id }) => id) }
    await this.#ask('CALL', { op: 'inbox.offer', input })
  }

  #ask(type: 'HELLO' | 'CALL', payload: object): Promise<unknown> {
    const id = newPipeId()
    this.#socket.write(`${JSON.stringify({ v: 1, type, id, ts: Date.now(), payload })}\n`)
    return new Promise((resolve, reject) => this.#awaited.set(id, { resolve, reject }))
  }

  #hear({ id, type, payload }: { id: string; type: string; payload: unknown }): void {
    const awaited = this.#awaited.get(id)
    this.#awaited.delete(id)
    if (type === 'WELCOME' || type === 'ACK') awaited?.resolve(payload)
    else process.exit(0)
  }
}
