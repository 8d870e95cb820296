// Where a play takes place: workspaces that talk in process, or a real daemon on real Unix sockets. Same words, same outcome.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Connector, socketConnector } from '@agent-relay/sdk'
import { controlSocketPath, socketPathOf } from '@agent-relay/sdk/discover'
import { makeIds } from '@agent-relay/sdk/protocol'
import { Dispatch } from '../../packages/relay/src/broker/dispatch.ts'
import { Workspace } from '../../packages/relay/src/broker/workspace.ts'
import { Daemon } from '../../packages/relay/src/daemon.ts'
import { inProcess } from '../../packages/relay/src/wires/in-process.ts'
import { loud } from '../../packages/relay/tests/loud.ts'
import type { PlayClock } from './clock.ts'

export interface House {
  /** Opens a workspace, or finds it open. */
  open(workspace: string): Promise<void>
  connector(workspace: string): Connector
  /** The key that was made when the workspace was opened first. */
  key(workspace: string): string
  close(): Promise<void>
}

export const links = ['in process', 'socket'] as const
export type LinkKind = (typeof links)[number]

export function houseOf(kind: LinkKind, clock: PlayClock): Promise<House> {
  return kind === 'socket' ? DaemonHouse.start(clock) : Promise.resolve(new ProcessHouse(clock))
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
    const key = (await workspace.begin(() => {})) as string
    const neighbours = {
      find: (other: string) => this.#open.get(other)?.workspace,
      all: () => [...this.#open.values()].map((each) => each.workspace),
    }
    const lag = () => ({ p50: 0, p99: 0, max: 0 })
    const daemon = {
      version: '0.0.0',
      startedAt: this.#clock.now(),
      lag,
      socketPath: () => 'none',
      url: () => undefined,
    }
    this.#open.set(name, { workspace, dispatch: new Dispatch(workspace, neighbours, daemon), key })
  }

  dispatch(workspace: string): Dispatch {
    return this.#found(workspace).dispatch
  }

  connector(workspace: string): Connector {
    return inProcess(this.dispatch(workspace))
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

  private constructor(clock: PlayClock) {
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
