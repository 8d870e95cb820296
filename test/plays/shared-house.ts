// A play on a shared workspace: two real daemons over one real PostgreSQL, and each agent lives on the other machine than the agent before
// it. Nobody acts before both machines have heard of all earlier acts: in a play that stands for the passing of time.

import { isDeepStrictEqual } from 'node:util'
import type { Connector, Link } from '@agent-relay/sdk/wire'
import { agentsToReport } from '../../packages/relay/src/broker/presence/availability.ts'
import type { Workspace } from '../../packages/relay/src/broker/workspace.ts'
import { Machine } from '../../packages/relay/tests/cluster/machine.ts'
import { PostgresServer } from '../../packages/relay/tests/cluster/postgres-server.ts'
import { until } from '../until.ts'
import type { PlayClock } from './clock.ts'
import type { Entrance, House } from './houses.ts'

type Opened = Awaited<ReturnType<Machine['open']>>

let server: Promise<PostgresServer> | undefined
let databases = 0

export async function endServer(): Promise<void> {
  ;(await server)?.end()
  server = undefined
}

export class SharedHouse implements House {
  readonly #machines: readonly [Machine, Machine]
  readonly #keys = new Map<string, string>()
  /** On which machine each name lives. */
  readonly #places = new Map<string, Machine>()
  readonly #open = new Map<string, readonly [Opened, Opened]>()
  /** Calls that wait for their answers. */
  readonly #under = new Map<Opened, number>()
  #turn: Promise<unknown> = Promise.resolve()

  private constructor(machines: readonly [Machine, Machine]) {
    this.#machines = machines
  }

  static async start(clock: PlayClock): Promise<SharedHouse> {
    server ??= PostgresServer.start()
    const world = await (await server).cluster(`play_${++databases}`)
    const [first, second] = [
      await Machine.start('first', world, { clock }),
      await Machine.start('second', world, { clock }),
    ]
    return new SharedHouse([first, second])
  }

  async open(workspace: string): Promise<void> {
    if (this.#open.has(workspace)) return
    const [first, second] = this.#machines
    this.#keys.set(workspace, (await first.open(workspace)).key as string)
    await first.control('workspace.share', { workspace })
    await second.control('workspace.open', { workspace, mustExist: true })
    this.#open.set(workspace, [await first.open(workspace), await second.open(workspace)])
  }

  connector(workspace: string, { name = '', isBeside = false }: Entrance = {}): Connector {
    const [first] = this.#machines
    const next = isBeside ? first : (this.#machines[this.#places.size % 2] as Machine)
    const machine = this.#places.get(name) ?? next
    this.#places.set(name, machine)
    const connect = machine.connector(workspace)
    return (hello, ...rest) =>
      this.#inTurn(async () => {
        const opened = this.#open.get(workspace)?.[machine === first ? 0 : 1] as Opened
        return this.#patient(await connect(hello, ...rest), opened)
      })
  }

  #patient(link: Link, opened: Opened): Link {
    const count = (by: number) => void this.#under.set(opened, (this.#under.get(opened) ?? 0) + by)
    const call = async (...asked: Parameters<Link['call']>) => {
      // The turn is over when the call has left: others may have to speak before it is answered.
      const { answer } = await this.#inTurn(async () => {
        count(1)
        return { answer: link.call(...asked).finally(() => count(-1)) }
      })
      return answer
    }
    // From now on means from what this machine has heard by now.
    const watch = async (...asked: Parameters<Link['watch']>) =>
      (await this.#inTurn(async () => ({ established: link.watch(...asked) }))).established
    const patient: Partial<Link> = { call: call as Link['call'], watch }
    return new Proxy(link, { get: (target, name) => patient[name as keyof Link] ?? bound(target, name) })
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(async () => {
      await this.#settled()
      return work()
    })
    this.#turn = done.catch(() => {})
    return done
  }

  /** Each machine has decided what it was asked, and has what the other has written, what was done with mail there, and who is there. */
  async #settled(): Promise<void> {
    for (const opened of this.#open.values()) {
      const [one, other] = opened.map(({ workspace }) => workspace) as [Workspace, Workspace]
      await until(async () => {
        for (const { workspace } of opened) await workspace.engine.reportBeforeClose?.()
        const isQuiet = opened.every((each) => this.#isQuiet(each))
        const isSame = one.store.journal.lastSeq === other.store.journal.lastSeq
        return isQuiet && isSame && this.#hasHeard(one, other, 'second') && this.#hasHeard(other, one, 'first')
      })
    }
  }

  /** What was asked has arrived, and waits for something that others do, if it is not answered. */
  #isQuiet(opened: Opened): boolean {
    return opened.workspace.engine.isIdle && opened.dispatch.pending === (this.#under.get(opened) ?? 0)
  }

  #hasHeard({ store, otherMachines }: Workspace, other: Workspace, machine: string): boolean {
    const there = new Map(agentsToReport(other).map(({ name, ...agent }) => [name, plain({ ...agent, machine })]))
    return [...store.view.agents()].every(({ name }) =>
      isDeepStrictEqual(plain(otherMachines.connectedAgent(name)), there.get(name)),
    )
  }

  key(workspace: string): string {
    return this.#keys.get(workspace) as string
  }

  async close(): Promise<void> {
    await Promise.all(this.#machines.map((machine) => machine.close()))
  }
}

/** As it is after it was told. */
function plain(value: object | undefined): unknown {
  return value && JSON.parse(JSON.stringify(value))
}

function bound(target: object, name: PropertyKey): unknown {
  const value = Reflect.get(target, name)
  return typeof value === 'function' ? value.bind(target) : value
}
