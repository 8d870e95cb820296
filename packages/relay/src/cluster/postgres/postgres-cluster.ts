// A daemon's access to a cluster in PostgreSQL: two connections, however many workspaces it shares, and the hints of changes that arrive on one of them.

import { type Clock, systemClock } from '../../machine/clock.ts'
import { version } from '../../machine/version.ts'
import type { ClusterJournal } from '../cluster-journal.ts'
import { type Client, Connection, LoginRefused, type ServerAddress } from './connection.ts'
import { endBlockingMachines } from './holding.ts'
import { type FunctionForm, type JournalConnections, PostgresJournal } from './postgres-journal.ts'

/** A test hint that has not arrived after this time counts as lost. */
const hintMs = 3_000

/**
 * Settings of every connection. The server notices a cut connection within half a minute, because a role may have few connections and dead ones count.
 * JIT is off: our queries take less than a millisecond, and compiling one takes a second if its plan looks expensive.
 */
const session = `SELECT set_config('tcp_keepalives_idle', '15', false), set_config('tcp_keepalives_interval', '5', false),
  set_config('tcp_keepalives_count', '3', false), set_config('jit', 'off', false),
  to_regproc('relay.append_3') IS NOT NULL AS is_planned`

/** The machine whose role has logged in, as the cluster knows it. */
interface Self {
  id: number
  name: string
  /** The number of times that the machine's daemon has started. */
  boot: number
}

/** A workspace as the cluster lists it. */
export interface ListedWorkspace {
  ws: number
  id: string
  name: string
  /** The workspace format; this version does not know the facts of a later format than its own. */
  format: number
  head: number
}

export class PostgresCluster {
  readonly #clock: Clock
  readonly #writer: Connection
  readonly #reader: Connection
  /** Registers this daemon with the cluster: once for each daemon, not for each connection, because a fenced daemon must not come back by itself. */
  #hello: Promise<Self> | undefined
  #self: Self | undefined
  #form: FunctionForm = 2
  readonly #listeners = new Map<string, Set<(head: number) => void>>()
  /** The workspace of each notification channel. */
  readonly #channels = new Map<string, string>()
  readonly #callListeners = new Set<() => void>()
  /** Whether hints arrive; assumed until a test has shown otherwise. */
  #hasHints = true
  #heard = false
  #triedHints = 0
  #ender: Connection | undefined

  /** Connects only at the first question, because a daemon must start even while the cluster cannot be reached. */
  constructor(address: ServerAddress, clock: Clock = systemClock) {
    this.#clock = clock
    const onSilence = () => this.#endHolder(address)
    this.#writer = new Connection({ address, clock, onSilence, greet: (client) => this.#greetWriter(client) })
    this.#reader = new Connection({ address, clock, onSilence, greet: (client) => this.#greetReader(client) })
  }

  /** Returns the journal of a workspace. `workspace`: the workspace's id, which never changes. */
  journal(workspace: string): ClusterJournal {
    const cluster = this
    const connections: JournalConnections = {
      writer: this.#writer,
      reader: this.#reader,
      get boot() {
        return (cluster.#self as Self).boot
      },
      get form() {
        return cluster.#form
      },
      listen: (id, listener) => this.#onHint(id, listener),
      get hasHints() {
        return cluster.#hasHints
      },
    }
    return new PostgresJournal(workspace, connections)
  }

  /** Returns the name of this machine. Fails if the cluster cannot be reached, and with `LoginRefused`. */
  machine(): Promise<string> {
    return this.#reader.ask(async () => (this.#self as Self).name)
  }

  workspaces(): Promise<ListedWorkspace[]> {
    return this.#reader.ask(list)
  }

  /** Runs work on the connection for writing, after the appends in line. `boot` counts the starts of this machine's daemon. */
  asWriter<T>(work: (client: Client, boot: number) => Promise<T>): Promise<T> {
    return this.#writer.ask((client) => work(client, (this.#self as Self).boot))
  }

  asReader<T>(work: (client: Client, boot: number) => Promise<T>): Promise<T> {
    return this.#reader.ask((client) => work(client, (this.#self as Self).boot))
  }

  /** Calls the listener when another machine asks or answers, presence changes, or the connection is new. Such a call is a hint, which may be lost. */
  onHint(listener: () => void): { stop(): void } {
    this.#callListeners.add(listener)
    return { stop: () => void this.#callListeners.delete(listener) }
  }

  async close(): Promise<void> {
    this.#listeners.clear()
    this.#callListeners.clear()
    await Promise.all([this.#writer.close(), this.#reader.close(), this.#ender?.close()])
  }

  /** Ends the machine that holds up our questions, over a connection of its own, because both others may be waiting. Waiting questions keep their place. */
  #endHolder(address: ServerAddress): void {
    if (this.#ender) return
    const ender = new Connection({ address, clock: this.#clock, greet: async () => {}, onSilence: () => {} })
    this.#ender = ender
    const close = () => {
      this.#ender = undefined
      return ender.close()
    }
    ender.ask(endBlockingMachines).then(close, close)
  }

  async #greetWriter(client: Client): Promise<void> {
    await this.#greet(client)
    await client.query('SELECT relay.back_1()')
  }

  async #greetReader(client: Client): Promise<void> {
    await this.#greet(client)
    client.on('notification', ({ channel, payload = '' }) => this.#hint(channel, payload))
    for (const workspace of this.#listeners.keys()) await this.#listen(client, workspace)
    await client.query(`LISTEN relay_machine_${(this.#self as Self).id}`)
    await client.query('LISTEN relay_presence')
    setImmediate(() => this.#call())
    void this.#tryHints().catch(() => {})
  }

  /**
   * Tests whether hints arrive, by a hint from this daemon to itself over the other connection. A connection pool that changes connections accepts LISTEN,
   * but delivers nothing.
   */
  async #tryHints(): Promise<void> {
    const mine = ++this.#triedHints
    this.#heard = false
    await this.#writer.ask((client) => client.query("SELECT pg_notify('relay_presence', '')"))
    await new Promise((resolve) => void this.#clock.after(hintMs, () => resolve(undefined)))
    if (mine === this.#triedHints) this.#hasHints = this.#heard
  }

  #call(): void {
    for (const listener of this.#callListeners) listener()
  }

  /** Overrides the database's defaults for a new connection: answered commits are on disk, and data read after a lock is new. */
  async #greet(client: Client): Promise<void> {
    await client.query('SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE')
    await client.query(
      "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') IN ('off', 'local')",
    )
    const { rows } = await client.query(session)
    this.#form = rows[0].is_planned ? 3 : 2
    this.#hello ??= this.#sayHello(client)
    await this.#hello
  }

  async #sayHello(client: Client): Promise<Self> {
    try {
      const { rows } = await client.query('SELECT * FROM relay.hello_1($1)', [version])
      if (rows.length === 0) throw new LoginRefused('this machine is not one of the cluster')
      this.#self = rows[0] as Self
      return this.#self
    } catch (error) {
      this.#hello = undefined
      throw error
    }
  }

  #onHint(workspace: string, listener: (head: number) => void): { stop(): void } {
    const listeners = this.#listeners.get(workspace) ?? new Set()
    this.#listeners.set(workspace, listeners.add(listener))
    // If this fails, the next connection listens, because it listens for every workspace in the map.
    this.#reader.ask((client) => this.#listen(client, workspace)).catch(() => {})
    return {
      stop: () => {
        listeners.delete(listener)
        if (listeners.size === 0 && this.#listeners.get(workspace) === listeners) this.#listeners.delete(workspace)
      },
    }
  }

  /** Listens for hints about the workspace, and reports entries that were appended before. */
  async #listen(client: Client, workspace: string): Promise<void> {
    const found = (await list(client)).find(({ id }) => id === workspace)
    if (!found) return
    const channel = `relay_${found.ws}`
    this.#channels.set(channel, workspace)
    await client.query(`LISTEN ${channel}`)
    const now = (await list(client)).find(({ id }) => id === workspace)
    if (now && now.head > 0) this.#tell(workspace, now.head)
  }

  /** Handles a hint. Anybody who may log in can send one: a payload that is no number is ignored, and a wrong number costs one look at the journal. */
  #hint(channel: string, payload: string): void {
    this.#heard = true
    this.#hasHints = true
    if (channel === `relay_machine_${this.#self?.id}` || channel === 'relay_presence') return this.#call()
    const [head, machine] = payload.split(' ').map(Number)
    const workspace = this.#channels.get(channel)
    if (workspace === undefined || !Number.isSafeInteger(head) || machine === this.#self?.id) return
    this.#tell(workspace, head as number)
  }

  #tell(workspace: string, head: number): void {
    for (const listener of this.#listeners.get(workspace) ?? []) listener(head)
  }
}

async function list(client: Client): Promise<ListedWorkspace[]> {
  const { rows } = await client.query('SELECT * FROM relay.list_1()')
  return rows.map((row) => ({ ...row, head: Number(row.head) }))
}
