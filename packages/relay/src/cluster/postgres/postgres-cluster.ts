// A daemon's way to a cluster in PostgreSQL: two connections, however many workspaces it shares, and the hints that come over one of them.

import { type Clock, systemClock } from '../../machine/clock.ts'
import { version } from '../../machine/version.ts'
import type { ClusterJournal } from '../cluster-journal.ts'
import { type Client, Connection, LoginRefused, type ServerAddress } from './connection.ts'
import { endHolder } from './holding.ts'
import { type Form, PostgresJournal, type Seat } from './postgres-journal.ts'

/** A hint that has not come by then does not come. */
const hintMs = 3_000

/**
 * The server notices within half a minute that a way was cut: a role has few connections, and those that are dead count. And it compiles nothing:
 * what we ask takes less than a millisecond, and compiling it takes a second where a plan looks expensive.
 */
const session = `SELECT set_config('tcp_keepalives_idle', '15', false), set_config('tcp_keepalives_interval', '5', false),
  set_config('tcp_keepalives_count', '3', false), set_config('jit', 'off', false),
  to_regproc('relay.append_3') IS NOT NULL AS is_planned`

/** As the cluster knows the machine whose role has logged in. */
interface Self {
  id: number
  name: string
  /** Which start of its daemon this is. */
  boot: number
}

/** A workspace of the cluster. */
export interface Listed {
  ws: number
  id: string
  name: string
  /** Facts of a later format are not known to this version. */
  format: number
  head: number
}

export class PostgresCluster {
  readonly #clock: Clock
  readonly #writer: Connection
  readonly #reader: Connection
  /** Said once for each daemon, not for each connection: a daemon that was fenced must not come back by itself. */
  #hello: Promise<Self> | undefined
  #self: Self | undefined
  #form: Form = 2
  readonly #listeners = new Map<string, Set<(head: number) => void>>()
  /** Which workspace the hints of a channel are about. */
  readonly #channels = new Map<string, string>()
  readonly #callListeners = new Set<() => void>()
  /** Until it was tried they are hoped for. */
  #hasHints = true
  #heard = false
  #triedHints = 0
  #ender: Connection | undefined

  /** Connects when something is asked: a daemon must start where the cluster is out of reach. */
  constructor(address: ServerAddress, clock: Clock = systemClock) {
    this.#clock = clock
    const onSilence = () => this.#endHolder(address)
    this.#writer = new Connection({ address, clock, onSilence, greet: (client) => this.#greetWriter(client) })
    this.#reader = new Connection({ address, clock, onSilence, greet: (client) => this.#greetReader(client) })
  }

  /** By the id of the workspace, which it keeps for ever. */
  journal(workspace: string): ClusterJournal {
    const cluster = this
    const seat: Seat = {
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
    return new PostgresJournal(workspace, seat)
  }

  /** The name of this machine. Fails where the cluster is out of reach, and with `LoginRefused`. */
  machine(): Promise<string> {
    return this.#reader.ask(async () => (this.#self as Self).name)
  }

  workspaces(): Promise<Listed[]> {
    return this.#reader.ask(list)
  }

  /** The work is told which start of this machine's daemon asks. What it changes waits for what is being appended. */
  asWriter<T>(work: (client: Client, boot: number) => Promise<T>): Promise<T> {
    return this.#writer.ask((client) => work(client, (this.#self as Self).boot))
  }

  asReader<T>(work: (client: Client, boot: number) => Promise<T>): Promise<T> {
    return this.#reader.ask((client) => work(client, (this.#self as Self).boot))
  }

  /** Another machine asks or answers, somebody came or went, or the connection is a new one: a hint, like those of journals. */
  onCall(listener: () => void): { stop(): void } {
    this.#callListeners.add(listener)
    return { stop: () => void this.#callListeners.delete(listener) }
  }

  async close(): Promise<void> {
    this.#listeners.clear()
    this.#callListeners.clear()
    await Promise.all([this.#writer.close(), this.#reader.close(), this.#ender?.close()])
  }

  /** Over a connection of its own, because both others may be waiting. What waits keeps its place in line. */
  #endHolder(address: ServerAddress): void {
    if (this.#ender) return
    const ender = new Connection({ address, clock: this.#clock, greet: async () => {}, onSilence: () => {} })
    this.#ender = ender
    const close = () => {
      this.#ender = undefined
      return ender.close()
    }
    ender.ask(endHolder).then(close, close)
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

  /** One hint to itself, over the other connection. A pool that changes connections takes the wish to listen, and nothing ever comes. */
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

  /** Whatever the database is set to: what is answered is on the disk, and what is read after a lock is new. */
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
    // Where this fails, the next connection listens.
    this.#reader.ask((client) => this.#listen(client, workspace)).catch(() => {})
    return {
      stop: () => {
        listeners.delete(listener)
        if (listeners.size === 0 && this.#listeners.get(workspace) === listeners) this.#listeners.delete(workspace)
      },
    }
  }

  /** Whatever was appended before it listens is told at once. */
  async #listen(client: Client, workspace: string): Promise<void> {
    const found = (await list(client)).find(({ id }) => id === workspace)
    if (!found) return
    const channel = `relay_${found.ws}`
    this.#channels.set(channel, workspace)
    await client.query(`LISTEN ${channel}`)
    const now = (await list(client)).find(({ id }) => id === workspace)
    if (now && now.head > 0) this.#tell(workspace, now.head)
  }

  /** Anybody who may log in can send one: what is not a number is nothing, and a wrong number costs a look. */
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

async function list(client: Client): Promise<Listed[]> {
  const { rows } = await client.query('SELECT * FROM relay.list_1()')
  return rows.map((row) => ({ ...row, head: Number(row.head) }))
}
