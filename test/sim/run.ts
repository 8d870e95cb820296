// One run: a seed decides what agents do, the real rules on a real store do it, and after each step the model checks the result.

import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeIds } from '@agent-relay/sdk/protocol'
import type { CallAnswer } from '../../packages/relay/src/broker/call.ts'
import { Dispatch } from '../../packages/relay/src/broker/dispatch.ts'
import type { Session } from '../../packages/relay/src/broker/sessions/session.ts'
import { Workspace } from '../../packages/relay/src/broker/workspace.ts'
import type { RuleInput, RuleName } from '../../packages/relay/src/core/decide.ts'
import type { Journal } from '../../packages/relay/src/core/journal.ts'
import { RefusalError } from '../../packages/relay/src/core/refusal-error.ts'
import { findColumnFault } from '../../packages/relay/src/store/column-check.ts'
import type { Database } from '../../packages/relay/src/store/database.ts'
import { Store } from '../../packages/relay/src/store/store.ts'
import { loud } from '../../packages/relay/tests/broker/loud.ts'
import { audit, dump, look, same } from './audit.ts'
import { type Expected, type Item, type Letter, Model, type Notice } from './model.ts'
import { Random } from './random.ts'

export interface Actor {
  session: Session
  agent: string
}

/** What one actor asks, and what the model expects of it at that moment. */
export interface Act {
  actor: Actor
  op: string
  input: Record<string, unknown>
  id: string
  expect(): Expected<Expectation>
}

export interface Expectation {
  /** The answer, as far as the model can know it. */
  output: Record<string, unknown>
  items?: Item[]
  handed?: Item[]
  letter?: Letter
}

/** An act that changed something and was answered: asked again, it must change nothing and be answered the same. */
interface Done {
  act: Act
  output: Record<string, unknown>
  handed: Item[]
}

/** Makes the database do something wrong, in a test that shows that the simulator notices. */
export type Plant = (database: Database) => void

const start = Date.UTC(2026, 0, 1)
/** Entries that a follower reads at once. */
const pageEntries = 7
/** A message of the daemon's own is stored within so many turns of the event loop. */
const turnsMax = 1_000
let runs = 0

export class Run {
  readonly random: Random
  readonly model = new Model()
  readonly done: Done[] = []
  readonly tokens = new Map<string, string>()
  readonly formerSessions = new Map<string, string>()
  actors: Actor[] = []
  now = start
  words = 0
  /** Every audit also looks at a copy, which takes some milliseconds to make. */
  isFollowed = false
  readonly log: string[] = []
  readonly #ids: ReturnType<typeof makeIds>
  readonly #plant: Plant
  /** Another copy of the workspace, which knows of it what its journal tells a follower. */
  #copy: Store | undefined
  readonly #directory: string | undefined
  #path: string
  #workspace: Workspace
  #dispatch: Dispatch
  #generation = 0
  #looks = 0
  /** The last message of the daemon that the model knows of. */
  #heard = 0

  private constructor(seed: number, onDisk: boolean, plant: Plant) {
    this.random = new Random(seed)
    this.#plant = plant
    this.#ids = makeIds(
      () => this.now,
      (bytes) => this.random.bytes(bytes),
    )
    this.#directory = onDisk ? mkdtempSync(join(tmpdir(), 'relay-sim-')) : undefined
    // A database in memory that a second connection can open: that is how a crash is survived without a disk.
    this.#path = this.#directory ? join(this.#directory, '0.db') : `file:/relay-sim-${process.pid}-${runs++}?vfs=memdb`
    this.#workspace = this.#openWorkspace()
    this.#dispatch = this.#newDispatch()
  }

  static async begin(seed: number, onDisk: boolean, plant: Plant = () => {}): Promise<Run> {
    const run = new Run(seed, onDisk, plant)
    run.model.stamp(run.now)
    await run.#workspace.start(() => {})
    return run
  }

  get workspace(): Workspace {
    return this.#workspace
  }

  #openWorkspace(): Workspace {
    const workspace = new Workspace({
      name: 'sim',
      databasePath: this.#path,
      searchPath: ':memory:',
      clock: { now: () => this.now, steady: () => 0, after: () => ({ cancel: () => {} }) },
      ids: this.#ids,
      ...loud,
    })
    // What a copied file holds is decided by what was written, not by fsync, and fsync is slow.
    workspace.store.database.exec('PRAGMA synchronous = OFF')
    if (!this.#directory) workspace.store.database.exec('PRAGMA journal_mode = MEMORY')
    this.#plant(workspace.store.database)
    return workspace
  }

  #newDispatch(): Dispatch {
    const daemon = {
      version: '0',
      uptimeMs: () => 0,
      lag: () => ({ p50: 0, p99: 0, max: 0 }),
      socketPath: () => '',
      url: () => undefined,
      agentProcesses: () => new Map(),
    }
    return new Dispatch(
      this.#workspace,
      { names: () => [], atRest: () => [], awake: () => [], visit: async () => undefined },
      daemon,
    )
  }

  nextId(): string {
    return this.#ids('c')
  }

  note(line: string): void {
    this.log.push(line)
  }

  // Acting

  /** All at once: they share a commit, and are decided in the order they were asked. */
  async perform(acts: Act[]): Promise<void> {
    const started = acts.map((act) => {
      const { actor, op, input, id } = act
      this.note(`${actor.agent}/${actor.session.id.slice(-4)} ${op} ${JSON.stringify(input)}`)
      const isLook = op === 'inbox.peek' || op === 'inbox.count'
      // Looking is no command and has no time of its own; but what the call settles has.
      if (!isLook || this.model.handed.get(actor.session.id)?.size) this.model.stamp(this.now)
      this.model.settle(actor.session.id)
      const before = this.model.changes
      const expected = act.expect()
      const answer = this.#ask(act)
      return { act, id, expected, answer, isChange: this.model.changes > before }
    })
    const arrivals: ((isLost: boolean) => Promise<void>)[] = []
    for (const { act, expected, answer, isChange } of started) {
      const got = await answer
      const arrival = this.#compare(act, expected, got)
      if (arrival) arrivals.push(arrival)
      if (isChange && !('refused' in expected) && !('refused' in got)) {
        this.done.push({ act, output: got.output as Record<string, unknown>, handed: expected.handed ?? [] })
      }
    }
    await this.#hearNotices()
    // Some answers are lost on their way, and not always does the wire know: then nothing they brought counts as received.
    for (const arrive of arrivals) if (!this.random.chance(0.05)) await arrive(this.random.chance(0.05))
  }

  /** What has come true is told by the daemon, each once, soon after. */
  async #hearNotices(): Promise<void> {
    const { store } = this.#workspace
    const due = this.model.due()
    const told = () =>
      store.database
        .prepare("SELECT id, seq, body FROM messages WHERE sender = 'agent-relay' AND seq > ? ORDER BY seq")
        .all(this.#heard)
        .map(([id, seq, body]) => ({ id, seq, body }) as { id: string; seq: number; body: string })
    for (let turns = 0; told().length < due.size && turns < turnsMax; turns++) await new Promise(setImmediate)
    const heard = told()
    same('the notices told', heard.map(({ body }) => body).sort(), [...due.keys()].sort())
    this.model.stamp(this.now)
    for (const letter of heard) {
      this.note(`the daemon tells: ${letter.body}`)
      this.model.told(due.get(letter.body) as Notice, letter)
      this.#heard = letter.seq
    }
  }

  #compare(
    act: Act,
    expected: Expected<Expectation>,
    got: Expected<CallAnswer>,
  ): ((isLost: boolean) => Promise<void>) | undefined {
    const { op, actor } = act
    if ('refused' in expected || 'refused' in got) {
      same(`${op} is refused`, 'refused' in got ? got.refused : 'no', 'refused' in expected ? expected.refused : 'no')
      return undefined
    }
    const output = got.output as Record<string, unknown>
    const { letter, handed } = expected
    if (letter) Object.assign(letter, { id: output.id, seq: output.seq })
    same(`${op} answers`, normal(output), expected.output)
    if (!handed) return undefined
    return async (isLost) => {
      if (isLost) {
        this.note(`${actor.agent}/${actor.session.id.slice(-4)} the answer to ${op} is lost`)
        this.model.stamp(this.now)
        this.model.letGo(actor.session.id, handed)
        return this.#dispatch.releaseLost(actor.session, got.handedMessages)
      }
      this.#dispatch.markReceived(actor.session, got.handedMessages)
      this.model.flushed(
        actor.session.id,
        handed.filter(({ state }) => state !== 'read'),
      )
    }
  }

  /** The same id again with other words: nothing changes, and it is refused. */
  async reuse({ act }: Done, actor: Actor, input: Act['input']): Promise<void> {
    this.note(`${actor.agent}/${actor.session.id.slice(-4)} uses the id of ${act.op} ${act.id} for something else`)
    this.model.stamp(this.now)
    this.model.settle(actor.session.id)
    same(`${act.op} with other words`, await this.#ask({ ...act, actor, input }), { refused: 'call.reused' })
  }

  /** The same id again: nothing changes, and the answer is the first one. */
  async repeat({ act, output, handed }: Done, actor: Actor): Promise<void> {
    this.note(`${actor.agent}/${actor.session.id.slice(-4)} again ${act.op} ${act.id}`)
    this.model.stamp(this.now)
    this.model.settle(actor.session.id)
    const got = await this.#ask({ ...act, actor })
    if ('refused' in got) throw new Error(`${act.op} again is refused: ${got.refused}`)
    same(`${act.op} again answers`, repeatable(got.output), repeatable(output))
    if (this.random.chance(0.1)) return
    this.#dispatch.markReceived(actor.session, got.handedMessages)
    this.model.flushed(
      actor.session.id,
      handed.filter(({ state }) => state !== 'read'),
    )
  }

  async #ask({ actor, op, input, id }: Act): Promise<Expected<CallAnswer>> {
    try {
      return await this.#dispatch.call(actor.session, op, input, id)
    } catch (error) {
      if (error instanceof RefusalError) return { refused: error.refusal.code }
      throw error
    }
  }

  /** What only the daemon itself asks: a push, a paste, the end of a wait, a delivery to a follower. */
  async expect(
    what: string,
    { rule, actor, input }: { rule: 'inbox.offer' | 'inbox.take'; actor: Actor; input: object },
    model: () => Record<string, unknown>,
  ): Promise<void> {
    const wanted = model()
    const reply = await this.#workspace.engine.submit({
      rule,
      input: input as never,
      by: actor.agent,
      cause: this.nextId(),
      session: actor.session.id,
    })
    same(what, 'refusal' in reply ? { refused: reply.refusal.code } : reply.outcome, wanted)
  }

  // Sessions

  async arrive(hello: {
    name: string
    token?: string
    session?: string
    strict?: boolean
    channels?: string[]
  }): Promise<void> {
    const { name, token, session: former, strict = false, channels = [] } = hello
    this.note(`hello ${JSON.stringify(hello)}`)
    this.model.stamp(this.now)
    const expected = this.model.nameFor(name, token !== undefined, strict)
    try {
      const { session, welcome } = await this.#dispatch.openSession('owner', hello)
      const agent = welcome.agent as string
      same('the name given', agent, 'name' in expected ? expected.name : expected.refused)
      same('a token is given', welcome.token !== undefined, token === undefined)
      const isTaken = this.actors.some((actor) => actor.session.ticket === former)
      if (former !== undefined && !isTaken) same('the session goes on', welcome.session, former)
      this.model.register(agent, channels, token !== undefined)
      this.model.open(session.id, agent)
      if (welcome.token) this.tokens.set(agent, welcome.token)
      this.actors.push({ session, agent })
    } catch (error) {
      if (!(error instanceof RefusalError)) throw error
      same('the name is refused', error.refusal.code, 'refused' in expected ? expected.refused : expected.name)
    }
  }

  vanish(actor: Actor): void {
    this.note(`${actor.agent}/${actor.session.id.slice(-4)} vanishes`)
    this.#workspace.sessions.end(actor.session)
    this.model.vanish(actor.session.id)
    this.formerSessions.set(actor.agent, actor.session.ticket)
    this.actors = this.actors.filter((each) => each !== actor)
  }

  // The world fails

  /** What was under way is forgotten, what was committed is not; those under way are asked again under their ids. */
  crash(underWay: Act[]): void {
    this.note(`crash with ${underWay.length} under way`)
    for (const act of underWay) void this.#ask(act).catch(() => {})
    for (const actor of [...this.actors]) this.formerSessions.set(actor.agent, actor.session.ticket)
    const before = dump(this.#workspace.store.database)
    const old = this.#workspace
    if (this.#directory) {
      const copy = join(this.#directory, `${++this.#generation}.db`)
      for (const end of ['', '-wal']) if (existsSync(this.#path + end)) copyFileSync(this.#path + end, copy + end)
      this.#path = copy
    }
    this.#workspace = this.#openWorkspace()
    this.#dispatch = this.#newDispatch()
    this.#workspace.notices.load()
    old.close()
    this.actors = []
    this.model.crash()
    same('the tables after a crash', dump(this.#workspace.store.database), before)
  }

  /** The disk refuses what these commands write: each is answered so, and nothing of them is left. */
  async fail(commands: { rule: RuleName; by: string; input: object }[]): Promise<void> {
    this.note(`the disk refuses ${commands.map(({ rule }) => rule).join(', ')}`)
    const { engine, store } = this.#workspace
    const before = dump(store.database, true)
    const failing = ['messages', 'concerns']
    for (const table of failing)
      store.database.exec(
        `CREATE TEMP TRIGGER fail_${table} AFTER INSERT ON ${table} BEGIN SELECT RAISE(ABORT, 'no'); END`,
      )
    const submit = ({ rule, by, input }: (typeof commands)[number]) =>
      engine.submit({ rule, by, input: input as RuleInput<typeof rule>, cause: this.nextId() })
    for (const reply of await Promise.all(commands.map(submit)))
      same('a command that could not be stored', 'refusal' in reply ? reply.refusal.code : 'done', 'fault')
    for (const table of failing) store.database.exec(`DROP TRIGGER fail_${table}`)
    same('the tables after a failure', dump(store.database, true), before)
  }

  /** A copy that applies what it reads from the journal, page by page, has the same rows. */
  follow(): void {
    const { database, journal }: { database: Database; journal: Journal } = this.#workspace.store
    this.#copy ??= new Store(':memory:')
    const copy = this.#copy
    for (let isMore = true; isMore; ) {
      const entries = journal.entriesAfter(copy.journal.lastSeq, pageEntries)
      copy.transact(() => copy.apply(entries.map((entry) => ({ ...entry, payload: journal.payload(entry.seq) }))))
      isMore = entries.length === pageEntries
    }
    same('the rows of a copy that follows', dump(copy.database, true), dump(database, true))
  }

  rebuild(): void {
    this.note('rebuild')
    const { store } = this.#workspace
    const before = dump(store.database)
    store.rebuild()
    same('the tables rebuilt from the journal', dump(store.database), before)
    same('what a restore would find wrong in a column', findColumnFault(store.database), undefined)
  }

  // Looking

  /** One inbox after each step, in turn: to look at all of them would take most of the time. */
  check(): void {
    const agents = [...this.model.agents.keys()]
    const next = agents[this.#looks++ % agents.length]
    if (next !== undefined) look(this.#workspace.store, this.model, next)
  }

  audit(): void {
    audit(this.#workspace, this.model)
    if (this.isFollowed) this.follow()
  }

  close(): void {
    this.#workspace.close()
    this.#copy?.close()
    if (this.#directory) rmSync(this.#directory, { recursive: true, force: true })
  }
}

/** Messages by their bodies: the store makes the ids. */
function normal({ messages, id: _, seq: __, ...rest }: Record<string, unknown>): Record<string, unknown> {
  return messages ? { ...rest, messages: (messages as { body: string }[]).map(({ body }) => body) } : rest
}

/** Who is away, and what is known of a message by now, may be another answer than before. */
function repeatable(output: unknown): unknown {
  const { messages, away: _, ...rest } = output as Record<string, unknown>
  return messages ? { ...rest, messages: (messages as { id: string }[]).map(({ id }) => id) } : rest
}
