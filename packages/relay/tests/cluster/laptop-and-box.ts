// A laptop and a box that share the workspace `team`: real daemons on a real PostgreSQL, for tests of one machine's rights on another. No tests.

import type { RequestKind } from '@agent-relay/sdk/protocol'
import { Actor } from '../../../../test/plays/play.ts'
import { until } from '../../../../test/until.ts'
import { withClient } from '../../src/cluster/postgres/connection.ts'
import { clusterStatusOf } from '../../src/cluster/postgres/status.ts'
import { ClusterFile, type ClusterMembership } from '../../src/machine/cluster-file.ts'
import type { Store } from '../../src/store/store.ts'
import { Machine } from './machine.ts'
import { PostgresServer, type PostgresWorld } from './postgres-server.ts'

export const workspace = 'team'

export class LaptopAndBox {
  readonly server: PostgresServer
  readonly world: PostgresWorld
  readonly laptop: Machine
  readonly box: Machine
  readonly key: string
  readonly #actors: Actor[] = []

  private constructor(server: PostgresServer, world: PostgresWorld, [laptop, box]: [Machine, Machine], key: string) {
    this.server = server
    this.world = world
    this.laptop = laptop
    this.box = box
    this.key = key
  }

  /** The laptop has made the workspace and owns it. */
  static async start(
    onTrouble: (error: Error) => void = () => {},
    own: Parameters<typeof Machine.start>[2] = {},
  ): Promise<LaptopAndBox> {
    const server = await PostgresServer.start()
    const world = await server.cluster('relay')
    const laptop = await Machine.start('laptop', world, { ...own, onTrouble })
    const box = await Machine.start('box', world, { onTrouble: () => {} })
    const { key } = await laptop.open(workspace)
    await laptop.control('workspace.share', { workspace })
    await box.control('workspace.open', { workspace, mustExist: true })
    return new LaptopAndBox(server, world, [laptop, box], key as string)
  }

  async close(): Promise<void> {
    for (const actor of this.#actors) await actor.leaves().catch(() => {})
    await this.laptop.close()
    await this.box.close()
    this.server.end()
  }

  /** Both daemons have heard of each other. */
  async hearOfEachOther(): Promise<void> {
    for (const [machine, other] of [
      [this.laptop, 'box'],
      [this.box, 'laptop'],
    ] as const)
      await until(async () => (await machine.open(workspace)).workspace.otherMachines.isReached(other))
  }

  enter(machine: Machine, name: string, token?: string): Promise<Actor> {
    return this.enterAs(new Actor(machine.connector(workspace), { name, token }))
  }

  async enterAs(actor: Actor): Promise<Actor> {
    this.#actors.push(actor)
    await actor.client.connect()
    return actor
  }

  async storeOf(machine: Machine): Promise<Store> {
    return (await machine.open(workspace)).workspace.store
  }

  /** As the machine's owner says it there. */
  async allow(machine: Machine, other: string, ...may: RequestKind[]): Promise<void> {
    const file = new ClusterFile(machine.dataDir)
    const place = file.read() as ClusterMembership
    const status = await withClient(place, clusterStatusOf)
    const joinedAt = status?.machines.find(({ name }) => name === other)?.joinedAt as string
    file.write({ ...place, allows: { ...place.allows, [other]: { joinedAt, may } } })
  }
}
