// Machines that share a workspace, each with a daemon and an agent, on a PostgreSQL with a copy that follows it: their possible faults, and the
// answers, messages and acknowledgements of each. No tests.

import { type DaemonProcess, Trial, trialProject } from '@agent-relay/prove/harness/processes'
import type { InputOf, OperationName, OutputOf } from '@agent-relay/sdk/protocol'
import { socketConnector } from '@agent-relay/sdk/wire'
import { expect } from 'vitest'
import { installedRelay } from '../../../packages/relay/src/cli/own-relay.ts'
import { withClient } from '../../../packages/relay/src/cluster/postgres/connection.ts'
import { ClusterFile } from '../../../packages/relay/src/machine/cluster-file.ts'
import type { PostgresServer, PostgresWorld } from '../../../packages/relay/tests/cluster/postgres-server.ts'
import { Actor } from '../../plays/play.ts'
import { until } from '../../until.ts'
import { type Ground, groundFor } from './grounds.ts'
import type { Cut } from './nets.ts'

const database = 'words'

/** What waits for the way is put behind what waits already, and what is sent at once may pass it: each kind has its own order. */
export type Verb = 'send' | 'queue'
export const verbs = ['send', 'queue'] as const

/** Answers after which nobody can know whether it is stored. */
const unsureCodes = ['connection.lost', 'daemon.stopping', 'cluster.unknown', 'workspace.closed', 'call.abandoned']
/** Answers that say that it is not. */
const refusedCodes = ['cluster.unreachable', 'cluster.diverged']

/** Of one send. `seen`: the word of the answer about the recipient, `refused`, `queued`, or undefined where there was no answer. */
export interface Said {
  body: string
  to: Member
  seen: string | undefined
}

export class Member {
  readonly name: string
  readonly agent: string
  readonly scene = new Trial({ relay: installedRelay })
  readonly actor: Actor
  readonly #ground: Ground
  #daemon: DaemonProcess | undefined
  #asked = 0
  isUp = false
  cut: Cut | undefined
  /** The server was lost since this one has reconciled. */
  owes = false
  /** It has stored something since the copy has fallen behind. */
  hasLost = false
  readonly read: string[] = []

  constructor(name: string, ground: Ground) {
    this.name = name
    this.agent = `on-${name}`
    this.#ground = ground
    this.actor = new Actor(socketConnector(this.scene.socketPath), { name: this.agent })
  }

  get isReached(): boolean {
    return this.isUp && this.cut === undefined
  }

  async join(world: PostgresWorld): Promise<void> {
    const { password = '', ...address } = await world.join(this.name)
    const place = this.#ground.address(this.name)
    new ClusterFile(this.scene.dataDir).write({ ...address, ...place, password, machine: this.name })
    await this.startDaemon()
  }

  async startDaemon(): Promise<void> {
    this.#daemon = this.scene.spawnDaemon({ wrapper: this.#ground.through(this.name) })
    // Of a workspace that another machine has shared, none is made here unasked.
    const isOther = ({ message }: Error) => message.includes('workspace.name-shared')
    await this.#daemon.ready.catch((error) => {
      if (!isOther(error)) throw error
      return this.control('workspace.open', { workspace: trialProject, mustExist: true })
    })
    this.isUp = true
  }

  /** Its client has noticed, too. */
  async starts(): Promise<void> {
    await this.startDaemon()
    await until(() => this.actor.client.connected)
  }

  async ends(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.isUp = false
    await this.#daemon?.end(signal)
  }

  isCut(how: Cut): void {
    this.cut = how
    this.#ground.cut(this.name, how)
  }

  isRestored(): void {
    if (this.cut) this.#ground.restore(this.name, this.cut)
    this.cut = undefined
  }

  async control<O extends OperationName>(op: O, input: InputOf<O>): Promise<OutputOf<O>> {
    const link = await socketConnector(this.scene.controlPath)({})
    try {
      return (await link.call(op as never, input as never, `c_${this.name}_${++this.#asked}`)) as OutputOf<O>
    } finally {
      await link.close()
    }
  }

  /** Of the workspace, as the daemon tells its owner: it is cut off, or goes no further, or neither. */
  async trouble(): Promise<string> {
    const { workspaces } = await this.control('workspace.list', {})
    const found = workspaces.find(({ name }) => name === trialProject)
    return found?.stopped?.code ?? (found?.cutOff ? 'cut off' : 'none')
  }

  /** What was shown is marked as read at once: from then on it must not be shown again. */
  async takes(): Promise<void> {
    if (!this.isUp) return
    const { messages } = await this.actor.call('inbox.take', { limit: 100 })
    if (messages.length === 0) return
    for (const { body } of messages) expect(this.read, `${this.agent} is shown again`).not.toContain(body)
    await this.actor.call('inbox.read', { messages: messages.map(({ id }) => id) })
    this.read.push(...messages.map(({ body }) => body))
  }

  async leaves(): Promise<void> {
    await this.actor.leaves().catch(() => {})
    await this.scene.dispose()
  }
}

export class SharedTeam {
  readonly members: Member[]
  readonly ground: Ground
  #server: PostgresServer
  #copy: PostgresServer
  isDown = false
  /** Acknowledged as stored or kept, by sender, recipient and verb, in their order. */
  readonly acknowledged = new Map<string, string[]>()
  readonly unsure = new Set<string>()
  readonly refused = new Set<string>()
  readonly count = { failovers: 0, lostWhileBehind: 0, missing: 0, restored: 0, left: 0 }
  #said = 0
  #isBehind = false

  private constructor(ground: Ground, members: Member[], server: PostgresServer, copy: PostgresServer) {
    this.ground = ground
    this.members = members
    this.#server = server
    this.#copy = copy
  }

  static async gather(names: readonly string[]): Promise<SharedTeam> {
    const ground = await groundFor(names)
    const open: { end(): void }[] = [ground]
    const members = names.map((name) => new Member(name, ground))
    try {
      const server = await ground.startServer()
      open.push(server)
      const world = await server.cluster(database)
      const [first, ...others] = members as [Member, ...Member[]]
      await first.join(world)
      await first.control('workspace.share', { workspace: trialProject })
      for (const other of others) await other.join(world)
      for (const { actor } of members) await actor.client.connect()
      const copy = await ground.copyOf(server)
      return new SharedTeam(ground, members, server, copy)
    } catch (error) {
      for (const member of members) await member.leaves()
      for (const each of open.reverse()) each.end()
      throw error
    }
  }

  async end(): Promise<void> {
    for (const member of this.members) await member.leaves()
    this.#copy.end()
    this.#server.end()
    this.ground.end()
  }

  kill(): void {
    this.#server.kill()
    this.isDown = true
  }

  async resume(): Promise<void> {
    if (this.isDown) await this.#server.resume()
    this.isDown = false
  }

  /** Everything that the copy has not is lost with the server: first the copy gets all, then no more. */
  async fallsBehind(): Promise<void> {
    await this.resume()
    const text = 'SELECT count(*)::int AS all FROM relay.journal'
    const entries = ({ address }: PostgresServer) =>
      withClient({ ...address, database }, (client) => client.query(text)).then(
        ({ rows }) => rows[0].all,
        () => undefined,
      )
    await until(async () => {
      if ((await entries(this.#copy)) !== (await entries(this.#server))) return false
      try {
        this.#copy.lag()
        return true
      } catch {
        // It asks the server that has come back every few seconds.
        return false
      }
    })
    this.#isBehind = true
    for (const member of this.members) member.hasLost = false
  }

  /** The server is gone for good, and the copy stands where it stood. */
  async failsOver(): Promise<void> {
    this.#server.kill()
    await this.#copy.promote()
    this.#server.end()
    this.#server = this.#copy
    this.ground.lead(this.#server)
    this.#isBehind = false
    this.count.failovers++
    for (const member of this.members) member.owes = true
  }

  /** The next copy. The server is stopped and started for it. */
  async getsCopy(): Promise<void> {
    this.#copy = await this.ground.copyOf(this.#server)
  }

  /** What its owner does on each machine after the server was lost. */
  async reconciles(member: Member): Promise<void> {
    if (!member.owes || !member.isReached || this.isDown) return
    const asked = () => member.control('workspace.reconcile', { workspace: trialProject, force: true })
    let last: unknown
    const isDone = async () => {
      try {
        const { lost, restored, left } = await asked()
        this.count.missing += lost
        this.count.restored += restored
        this.count.left += left
        return true
      } catch (error) {
        expect((error as { code?: string }).code, String(error)).toMatch(/^cluster\.unreachable$/)
        last = error
        return false
      }
    }
    await until(isDone).catch(() => Promise.reject(last))
    member.owes = false
    await until(() => member.actor.client.connected)
  }

  async says(from: Member, to: Member, verb: Verb): Promise<Said> {
    const sender = `${from.agent} to ${to.agent} by ${verb}`
    const body = `${sender}: ${++this.#said}`
    try {
      const input = { to: to.agent, body }
      const sent =
        verb === 'send' ? await from.actor.call('message.send', input) : await from.actor.call('message.queue', input)
      this.acknowledged.set(sender, [...(this.acknowledged.get(sender) ?? []), body])
      const stored = 'queued' in sent || 'sent' in sent ? sent.sent : (sent as OutputOf<'message.send'>)
      if (!stored) return { body, to, seen: 'queued' }
      if (this.#isBehind) {
        this.count.lostWhileBehind++
        from.hasLost = true
      }
      if (stored.unreachable?.some(({ name }) => name === to.agent)) return { body, to, seen: 'unreachable' }
      return { body, to, seen: stored.away.includes(to.agent) ? 'offline' : 'there' }
    } catch (error) {
      const { code = '' } = error as { code?: string }
      if (refusedCodes.includes(code)) {
        this.refused.add(body)
        return { body, to, seen: 'refused' }
      }
      expect(unsureCodes, String(error)).toContain(code)
      this.unsure.add(body)
      return { body, to, seen: undefined }
    }
  }

  get said(): number {
    return this.#said
  }

  /** The bodies of all messages, in the order of the journal. */
  async journal(): Promise<string[]> {
    const text = 'SELECT entry FROM relay.journal ORDER BY seq'
    const { rows } = await withClient({ ...this.#server.address, database }, (client) => client.query(text))
    const entries = rows.map(({ entry }) => JSON.parse(entry) as { rule: string; body?: string })
    return entries.flatMap(({ rule, body }) => (rule === 'message.send' && body !== undefined ? [body] : []))
  }
}
