// The stages of a play: workspaces that talk in process, or a real daemon on real Unix sockets or its open port. All give the same outcome.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { controlSocketPath, socketPathOf } from '@agent-relay/sdk/internal/discover'
import { makeIds } from '@agent-relay/sdk/protocol'
import { type Connector, socketConnector, websocketConnector } from '@agent-relay/sdk/wire'
import { Dispatch } from '../../packages/relay/src/broker/dispatch.ts'
import type { Neighbours } from '../../packages/relay/src/broker/presence/other-workspaces.ts'
import { Workspace } from '../../packages/relay/src/broker/workspace.ts'
import { Daemon, type DaemonOptions } from '../../packages/relay/src/daemon/daemon.ts'
import { loud } from '../../packages/relay/tests/broker/loud.ts'
import { inProcessConnector } from '../../packages/relay/tests/in-process-connector.ts'
import { sized } from '../size.ts'
import type { PlayClock } from './clock.ts'

/** Who comes, where that decides by which door. */
export interface Entrance {
  name?: string
  /** Everybody comes to the same machine. */
  isBeside?: boolean
}

export interface House {
  /** Opens a workspace, or finds it open. */
  open(workspace: string): Promise<void>
  connector(workspace: string, entrance?: Entrance): Connector
  /** The key that was made when the workspace was opened first. */
  key(workspace: string): string
  close(): Promise<void>
}

/** Those that pass the suite of links. */
export const links = ['in process', 'socket', 'websocket'] as const
export type LinkKind = (typeof links)[number]
export type StageKind = LinkKind | 'shared'
/** Those that plays run on; in full, two daemons that share a workspace. Over the network other rights hold: see packages/relay/tests/wires. */
export const stages: readonly StageKind[] = sized<readonly StageKind[]>(['in process', 'socket'], ['shared'])

export async function houseOf(kind: StageKind, clock: PlayClock): Promise<House> {
  if (kind === 'shared') return (await import('./shared-house.ts')).SharedHouse.start(clock)
  if (kind === 'in process') return new ProcessHouse(clock)
  return kind === 'socket' ? DaemonHouse.start(clock) : OpenPortHouse.start(clock)
}

export class ProcessHouse implements House {
  readonly #clock: PlayClock
  readonly #ids: ReturnType<typeof makeIds>
  readonly #open = new Map<string, { workspace: Workspace; dispatch: Dispatch; key: string }>()

  constructor(clock: PlayClock) {
    this.#clock = clock
    this.#ids = makeIds(clock.now)
  }

  async open(name: string): Promise<void> {
    if (this.#open.has(name)) return
    const workspace = new Workspace({
      name,
      databasePath: ':memory:',
      searchPath: ':memory:',
      clock: this.#clock,
      ids: this.#ids,
      ...loud,
    })
    const key = (await workspace.start(() => {})) as string
    const neighbours: Neighbours<Workspace> = {
      names: () => [...this.#open.keys()],
      atRest: () => [],
      awake: () => [...this.#open.values()].map(({ workspace }) => workspace),
      visit: async (other, work) => {
        const found = this.#open.get(other)?.workspace
        return found && work(found)
      },
    }
    const lag = () => ({ p50: 0, p99: 0, max: 0 })
    const daemon = {
      version: '0.0.0',
      uptimeMs: () => this.#clock.steady(),
      lag,
      socketPath: () => 'none',
      url: () => undefined,
      agentProcesses: () => new Map(),
    }
    this.#open.set(name, { workspace, dispatch: new Dispatch(workspace, neighbours, daemon), key })
  }

  dispatch(workspace: string): Dispatch {
    return this.#found(workspace).dispatch
  }

  connector(workspace: string): Connector {
    return inProcessConnector(this.dispatch(workspace))
  }

  key(workspace: string): string {
    return this.#found(workspace).key
  }

  async close(): Promise<void> {
    for (const { workspace } of this.#open.values()) workspace.close()
    this.#open.clear()
  }

  #found(name: string) {
    const found = this.#open.get(name)
    if (!found) throw new Error(`the workspace ${name} is not open`)
    return found
  }
}

export class DaemonHouse implements House {
  readonly dataDir: string
  readonly stops: string[] = []
  readonly #clock: PlayClock
  readonly #keys = new Map<string, string>()
  #daemon: Daemon | undefined

  protected constructor(clock: PlayClock) {
    this.#clock = clock
    this.dataDir = mkdtempSync(join(tmpdir(), 'relay-play-'))
  }

  static async start(clock: PlayClock): Promise<DaemonHouse> {
    const house = new DaemonHouse(clock)
    await house.start()
    return house
  }

  async start(): Promise<void> {
    this.#daemon = await Daemon.start({
      dataDir: this.dataDir,
      credentialsPath: join(this.dataDir, 'credentials.json'),
      clock: this.#clock,
      http: this.http,
      onTrouble: (error) => {
        throw error
      },
      onStop: (reason) => this.stops.push(reason),
    })
    if (!this.#daemon) throw new Error('another daemon has this data directory')
  }

  async stop(): Promise<void> {
    await this.#daemon?.stop()
  }

  protected get http(): DaemonOptions['http'] {
    return undefined
  }

  protected get url(): string {
    return this.#daemon?.url as string
  }

  async open(name: string): Promise<void> {
    const { key } = await (this.#daemon as Daemon).open(name)
    if (key !== undefined) this.#keys.set(name, key)
  }

  connector(workspace: string): Connector {
    return socketConnector(socketPathOf(this.dataDir, workspace))
  }

  control(): Connector {
    return socketConnector(controlSocketPath(this.dataDir))
  }

  key(workspace: string): string {
    return this.#keys.get(workspace) as string
  }

  async close(): Promise<void> {
    await this.stop()
    rmSync(this.dataDir, { recursive: true, force: true })
  }
}

/** The same daemon, reached by WebSocket on a port that asks for no credential: who comes is who it says. */
class OpenPortHouse extends DaemonHouse {
  static override async start(clock: PlayClock): Promise<OpenPortHouse> {
    const house = new OpenPortHouse(clock)
    await house.start()
    return house
  }

  protected override get http(): DaemonOptions['http'] {
    return { port: 0, isOpen: true }
  }

  override connector(workspace: string): Connector {
    return websocketConnector(this.url, { workspace })
  }
}
