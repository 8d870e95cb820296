// `agent-relay-mcp hook EVENT`: what an agent's CLI runs at the boundaries of a turn. It takes the messages that wait for the agent and prints
// them in the form of that event, after the agent's brief where the model's memory was cut. Without either it prints nothing, and the host never
// notices an error. `hook rewake` prints what waits in the form that wakes an idle session, and `hook wait` stays until there is something.
// Loaded in the time of a bare Node, like the pipe: `node:` modules, discovery and the text form only.

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { clisWith } from '@agent-relay/sdk/internal/clis'
import { dataDir, reachDaemon, setting } from '@agent-relay/sdk/internal/discover'
import { type InjectedMessage, injectionText } from '@agent-relay/sdk/internal/injection'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { newPipeId } from '../pipe/opening.cts'
import { hosts, threadOf } from './identity.cts'
import { stdinObject } from './stdin.cts'

/** The turn ends at these events: the hook must keep it from ending. At all others the text is added to what the model sees. */
const stops = ['Stop', 'SubagentStop', 'AfterAgent', 'agentStop']
/** A new session has not seen what an earlier one was shown. */
const begins = ['SessionStart', 'sessionStart']

/** What a session begins with may be a memory that was cut: the CLI says on stdin by what (`source`). */
const cuts = ['compact', 'resume', 'clear']
/** Gemini CLI runs the hooks of a session that was cleared, and drops what they say. */
const isUnheard = (cli: string, cut: string | undefined) => cli === 'gemini' && cut === 'clear'

/** The turn waits for us, and a daemon answers within milliseconds or is in trouble. */
const answerMs = waitLimitMs('hook')
/** One wait of many. */
const waitMs = 600_000
/** How often a waiter checks its parent: when the host is gone, it has another one. */
const parentMs = 5_000
/** Claude Code puts a longer context than 10,000 characters into a file: what does not fit comes at the end of the turn, which has room. */
const contextRoom = { limit: 8, bytesMax: 5 * 1024 }

/** Ends the process where the daemon does not answer. */
let late: NodeJS.Timeout | undefined

/** Ends the process by itself. */
export async function mailHook(event: string, cli = 'claude'): Promise<void> {
  const env = process.env
  const [name, token] = [setting(env, 'RELAY_AGENT_NAME'), setting(env, 'RELAY_AGENT_TOKEN')]
  const form = formFor(cli)
  // A worker has both; a person's own session has a name at most, and is known by its host. A token alone is a mistake.
  if (form === undefined || (name === undefined && token !== undefined)) return
  if (event !== 'wait') late = setTimeout(() => process.exit(), answerMs).unref()
  const known = hosts(env.RELAY_HOST)
  // Which of many conversations a hook belongs to is said on stdin.
  const said = begins.includes(event) || form.isShared ? await stdinObject() : {}
  const path = token === undefined ? join(dataDir(env), 'hooks', `brief.${known[0]}`) : undefined
  const later = new LaterBrief(path, form.isShared ? threadOf(said) : undefined)
  const cut = begins.includes(event) ? cuts.find((each) => each === said.source) : undefined
  try {
    if (isUnheard(cli, cut)) {
      later.leave(cut)
      process.exit()
    }
    const { socketPath, socket } = await reachDaemon()
    // A session that resumes begins before its MCP server has come: nobody knows whose it is.
    const identity = token === undefined ? { hosts: known, thread: threadOf(said) } : { token }
    const line = new Line(socket ?? connect(socketPath), identity, () => later.leave(cut))
    if (event === 'wait') await wait(line, form)
    else if (event === 'rewake') await rewake(line, form, later)
    else await show(line, event, form, cut, later)
  } catch {
    process.exit()
  }
}

/**
 * A brief that cannot be given now goes with what the next hook says. It is a file beside the daemon's own, named after the host: a line for each
 * conversation, with what the memory was cut by.
 */
class LaterBrief {
  readonly #path: string | undefined
  readonly #thread: string

  constructor(path: string | undefined, thread = '') {
    this.#path = path
    this.#thread = thread
  }

  leave(after: string | undefined): void {
    if (after !== undefined) this.#write([...this.#lines(false), `${after} ${this.#thread}`])
  }

  get after(): string | undefined {
    const left = this.#lines(true).at(-1)?.split(' ')[0]
    return cuts.find((cut) => cut === left)
  }

  given(): void {
    this.#write(this.#lines(false))
  }

  #lines(isOwn: boolean): string[] {
    try {
      const lines = this.#path === undefined ? [] : readFileSync(this.#path, 'utf8').split('\n')
      return lines.filter((line) => line !== '' && ((line.split(' ')[1] ?? '') === this.#thread) === isOwn)
    } catch {
      return []
    }
  }

  #write(lines: string[]): void {
    try {
      if (this.#path === undefined) return
      if (lines.length > 0) writeFileSync(this.#path, `${lines.join('\n')}\n`, { mode: 0o600 })
      else rmSync(this.#path, { force: true })
    } catch {}
  }
}

interface Form {
  toolPrefix: string
  isBare: boolean
  isFlat: boolean
  isShared: boolean
  /** How a session is woken: opencode's plugin gives it what the waiter prints, through opencode's own interface. */
  waking: 'rewake' | 'http'
}

/** How messages are written for the CLI's model; undefined for a CLI that runs no hooks. */
function formFor(cli: string): Form | undefined {
  const row = clisWith('hooks').find(({ name }) => name === cli)
  const waking = cli === 'opencode' ? 'http' : 'rewake'
  return row && { toolPrefix: row.toolPrefix, ...row.hooks, isShared: 'sharesServer' in row, waking }
}

/** Prints first, then reports the messages as offered: what is lost in between is offered again, never counted as read. */
async function show(line: Line, event: string, form: Form, cut: string | undefined, later: LaterBrief): Promise<void> {
  const isStop = stops.includes(event)
  const isBegin = begins.includes(event)
  // What was shown before a compaction may stand in the very prompt that begins: the brief counts the rest of it.
  const again = isBegin && cut !== 'compact'
  const messages = await line.take({ again, begun: performance.timeOrigin, ...(isStop ? {} : contextRoom) })
  // After the take: the brief counts as waiting only what is not handed over here.
  const opening = await openingOf(line, cut ?? later.after, later)
  if (messages.length === 0 && opening === '') process.exit()
  const text = injectionText(messages, { ...form, sendTool: line.sendTool, opening })
  const context = { additionalContext: text }
  const added = form.isFlat ? context : { hookSpecificOutput: { hookEventName: event, ...context } }
  const output = isStop ? { decision: 'block', reason: text } : added
  print(process.stdout, JSON.stringify(output), () => report(line, messages, 'hook'))
}

async function openingOf(line: Line, after: string | undefined, later: LaterBrief): Promise<string> {
  if (after === undefined) return ''
  const text = await line.brief(after)
  later.given()
  return text
}

/** Where nobody reads it any more, nothing was shown: the messages are free again. */
function print(stream: NodeJS.WriteStream, text: string, then: () => void): void {
  stream.write(`${text}\n`, (error) => (error ? process.exit() : then()))
}

function report(line: Line, messages: InjectedMessage[], route: 'hook' | Form['waking']): void {
  setTimeout(() => process.exit(), answerMs).unref()
  line.offered(messages, route).finally(() => process.exit())
}

/** A brief alone wakes nobody. opencode's plugin adds it to every prompt, to this one too. */
async function rewake(line: Line, form: Form, later: LaterBrief): Promise<void> {
  const messages = await line.take({})
  const isBriefed = messages.length > 0 && form.waking === 'rewake'
  wake(line, messages, form, isBriefed ? await openingOf(line, later.after, later) : '')
}

/** Claude Code's asyncRewake: exit code 2 wakes the session, which sees what stands on stderr. */
function wake(line: Line, messages: InjectedMessage[], form: Form, opening = ''): void {
  if (messages.length === 0) process.exit()
  const text = injectionText(messages, { ...form, sendTool: line.sendTool, opening })
  if (form.waking === 'http') return handOver(line, messages, text)
  print(process.stderr, text, () => {
    // Whatever becomes of the report: if the daemon has it and its answer is lost, nobody else shows the messages.
    process.exitCode = 2
    report(line, messages, form.waking)
  })
}

/**
 * opencode's plugin writes a line once opencode has the text, however long that takes. Without it nothing was shown, and the messages wait for the
 * next waiter.
 */
function handOver(line: Line, messages: InjectedMessage[], text: string): void {
  clearTimeout(late)
  const over = () => process.exit()
  process.stdin
    .once('data', () => {
      // The waiter has done its work.
      process.exitCode = 2
      report(line, messages, 'http')
    })
    .on('error', over)
    .on('end', over)
  print(process.stdout, JSON.stringify(text), () => {})
}

/** Where no shell can wait (hook-guard.ts). */
async function wait(line: Line, form: Form): Promise<void> {
  const parent = process.ppid
  setInterval(() => process.ppid !== parent && process.exit(), parentMs)
  for (;;) {
    const asked = performance.now()
    const messages = await line.take({ wait: waitMs })
    if (messages.length > 0 && process.ppid === parent) return wake(line, messages, form)
    // The wait ended early: a newer waiter has come, or the daemon stops.
    if (messages.length > 0 || performance.now() - asked < waitMs) process.exit()
  }
}

/** As much of the protocol as a hook needs: HELLO, then one call after the other. */
class Line {
  readonly #socket: Socket
  readonly #onStranger: () => void
  #isKnown = false
  /** How the agent's model answers, where that is not by `relay_send`. */
  sendTool: string | undefined
  readonly #welcome: Promise<unknown>
  readonly #awaited = new Map<string, { resolve(payload: unknown): void; reject(): void }>()

  constructor(
    socket: Socket,
    identity: { token: string } | { hosts: number[]; thread?: string },
    onStranger: () => void,
  ) {
    this.#socket = socket
    this.#onStranger = onStranger
    // The pieces of a large answer are joined once.
    let pieces: Buffer[] = []
    socket.on('data', (chunk) => {
      pieces.push(chunk)
      if (!chunk.includes(10)) return
      const lines = Buffer.concat(pieces).toString().split('\n')
      pieces = [Buffer.from(lines.pop() as string)]
      for (const line of lines) this.#hear(JSON.parse(line))
    })
    // Without the daemon there is nothing to wait for.
    socket.on('error', () => process.exit()).on('close', () => process.exit())
    this.#welcome = this.#ask('HELLO', identity)
  }

  async take(
    how: { [name in 'begun' | 'wait' | 'limit' | 'bytesMax']?: number } & { again?: boolean },
  ): Promise<InjectedMessage[]> {
    this.sendTool = ((await this.#welcome) as { sendTool?: string }).sendTool
    const input = { route: 'hook', ...how }
    return ((await this.#ask('CALL', { op: 'inbox.take', input })) as { messages: InjectedMessage[] }).messages
  }

  async offered(messages: InjectedMessage[], route: 'hook' | Form['waking']): Promise<void> {
    const input = { route, messages: messages.map(({ id }) => id) }
    if (messages.length > 0) await this.#ask('CALL', { op: 'inbox.offer', input })
  }

  async brief(after: string): Promise<string> {
    return ((await this.#ask('CALL', { op: 'agent.brief', input: { after } })) as { text: string }).text
  }

  #ask(type: 'HELLO' | 'CALL', payload: object): Promise<unknown> {
    const id = newPipeId()
    this.#socket.write(`${JSON.stringify({ v: 1, type, id, ts: Date.now(), payload })}\n`)
    return new Promise((resolve, reject) => this.#awaited.set(id, { resolve, reject }))
  }

  #hear({ id, type, payload }: { id: string; type: string; payload: unknown }): void {
    const awaited = this.#awaited.get(id)
    this.#awaited.delete(id)
    if (type === 'WELCOME' || type === 'ACK') {
      this.#isKnown = true
      return awaited?.resolve(payload)
    }
    if (!this.#isKnown) this.#onStranger()
    process.exit()
  }
}
