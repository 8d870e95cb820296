// A daemon's access to a cluster in PostgreSQL: two connections, however many workspaces it shares, and the hints (notifications of changes) that arrive on
// one of them.

import { type Clock, systemClock } from '../../machine/clock.ts'
import { version } from '../../machine/version.ts'
import type { ClusterJournal } from '../cluster-journal.ts'
import { type Client, Connection, LoginRefused, type ServerAddress } from './connection.ts'
import { endBlockingMachines } from './holding.ts'
import { type FunctionForm, type JournalConnections, PostgresJournal } from './postgres-journal.ts'

/** How long to wait for the hint that tests whether hints arrive. */
const hintMs = 3_000

/**
 * Settings of every connection. With the keepalives, the server notices a cut connection within half a minute: dead connections count against the limit of a
 * role. JIT is off: our queries take less than a millisecond, but compiling one takes a second, if its plan looks expensive.
 */
const session = `SELECT set_config('tcp_keepalives_idle', '15', false), set_config('tcp_keepalives_interval', '5', false),
  set_config('tcp_keepalives_count', '3', false), set_config('jit', 'off', false),
  to_regproc('relay.append_3') IS NOT NULL AS is_planned`

/** The machine whose role has logged in, as the cluster knows it. */
interface Self {
  id: number
  name: string
  /** How often the machine's daemon has started, which identifies the present start. */
  boot: number
}

/** A workspace as the cluster lists it. */
export interface ListedWorkspace {
  ws: number
  id: string
  name: string
  /** The workspace's format. This version does not know the facts of formats that are newer than its own. */
  format: number
  head: number
}

export class PostgresCluster {
  readonly #clock: Clock
  readonly #writer: Connection
  readonly #reader: Connection
  /**
   * Resolves once this daemon is registered with the cluster. It registers once and not for each connection: a daemon that was shut out because another one
   * has its identity must not register again by itself.
   */
  #hello: Promise<Self> | undefined
  #self: Self | undefined
  #form: FunctionForm = 2
  readonly #listeners = new Map<string, Set<(head: number) => void>>()
  /** The id of the workspace, for each notification channel of the database. */
  readonly #channels = new Map<string, string>()
  readonly #callListeners = new Set<() => void>()
  /** Whether hints arrive. Taken to be true until a test has shown otherwise. */
  #hasHints = true
  #heard = false
  #triedHints = 0
  #ender: Connection | undefined

  /** Does not connect yet: the first call does, because a daemon must start even while the cluster cannot be reached. */
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

  /** Returns the name of this machine. Fails with `ClusterUnreachable` or `LoginRefused`. */
  machine(): Promise<string> {
    return this.#reader.ask(async () => (this.#self as Self).name)
  }

  workspaces(): Promise<ListedWorkspace[]> {
    return this.#reader.ask(list)
  }

  /** Runs work on the connection for appends, after those that wait already. `boot` says how often this machine's daemon has started. */
  asWriter<T>(work: (client: Client, boot: number) => Promise<T>): Promise<T> {
    return this.#writer.ask((client) => work(client, (this.#self as Self).boot))
  }

  asReader<T>(work: (client: Client, boot: number) => Promise<T>): Promise<T> {
    return this.#reader.ask((client) => work(client, (this.#self as Self).boot))
  }

  /**
   * Calls the listener when another machine has asked or answered a question, when presence has changed, or when there is a new connection. Such a hint may
   * be lost.
   */
  onHint(listener: () => void): { stop(): void } {
    this.#callListeners.add(listener)
    return { stop: () => void this.#callListeners.delete(listener) }
  }

  async close(): Promise<void> {
    this.#listeners.clear()
    this.#callListeners.clear()
    await Promise.all([this.#writer.close(), this.#reader.close(), this.#ender?.close()])
  }

  /**
   * Asks the database to disconnect machines that block this one. Uses a third connection, because the other two may both be waiting. The calls that wait
   * keep their place in line.
   */
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

  /** Tests whether hints arrive: sends one over one connection and waits for it on the other. Some connection pools accept LISTEN and deliver nothing. */
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

  /** Overrides settings of the database for a new connection: a commit is on disk when it is answered, and data read after taking a lock is current. */
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
    // If this fails, the workspace is in the map all the same, and the next connection listens for every workspace in the map.
    this.#reader.ask((client) => this.#listen(client, workspace)).catch(() => {})
    return {
      stop: () => {
        listeners.delete(listener)
        if (listeners.size === 0 && this.#listeners.get(workspace) === listeners) this.#listeners.delete(workspace)
      },
    }
  }

  /** Listens for hints about the workspace. Then reports the last entry, for entries that were appended before. */
  async #listen(client: Client, workspace: string): Promise<void> {
    const found = (await list(client)).find(({ id }) => id === workspace)
    if (!found) return
    const channel = `relay_${found.ws}`
    this.#channels.set(channel, workspace)
    await client.query(`LISTEN ${channel}`)
    const now = (await list(client)).find(({ id }) => id === workspace)
    if (now && now.head > 0) this.#tell(workspace, now.head)
  }

  /** Handles a hint. Anybody who may log in can send one, so a malformed hint is ignored; a wrong number costs only one look at the journal. */
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
