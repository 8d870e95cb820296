// A machine of a cluster in a test: a data directory that has joined, and its daemon, which can be stopped and started. No tests.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { controlSocketPath, socketPathOf } from '@agent-relay/sdk/internal/discover'
import type { InputOf, OperationName, OutputOf } from '@agent-relay/sdk/protocol'
import { type Connector, socketConnector } from '@agent-relay/sdk/wire'
import type { Dispatch } from '../../src/broker/dispatch.ts'
import type { Workspace } from '../../src/broker/workspace.ts'
import { Daemon, type DaemonOptions } from '../../src/daemon/daemon.ts'
import { ClusterFile } from '../../src/machine/cluster-file.ts'
import type { PostgresWorld } from './postgres-server.ts'

type Own = Pick<DaemonOptions, 'clock' | 'http'> & { onTrouble?(error: Error): void; host?: string }

export class Machine {
  readonly name: string
  readonly dataDir = mkdtempSync(join(tmpdir(), 'relay-machine-'))
  readonly #own: Own
  #daemon: Daemon | undefined
  #asked = 0

  private constructor(name: string, own: Own) {
    this.name = name
    this.#own = own
  }

  /** `host`: where the server is to be found, if not at its own place. */
  static async start(name: string, world: PostgresWorld, own: Own = {}): Promise<Machine> {
    const machine = new Machine(name, own)
    const { password = '', ...address } = await world.join(name)
    const host = own.host ?? address.host
    new ClusterFile(machine.dataDir).write({ ...address, host, password, machine: name })
    await machine.start()
    return machine
  }

  async start(): Promise<void> {
    const fail = (error: Error) => {
      throw error
    }
    const { clock, http, onTrouble = fail } = this.#own
    const credentialsPath = join(this.dataDir, 'credentials.json')
    const own = { clock, onTrouble, ...(http ? { http } : {}) }
    this.#daemon = await Daemon.start({ dataDir: this.dataDir, credentialsPath, ...own, onStop: () => {} })
    if (!this.#daemon) throw new Error('another daemon has this data directory')
  }

  /** Where it serves HTTP. */
  get url(): string {
    return this.#daemon?.url as string
  }

  async stop(): Promise<void> {
    await this.#daemon?.stop()
  }

  open(workspace: string): Promise<{ workspace: Workspace; dispatch: Dispatch; key?: string }> {
    return (this.#daemon as Daemon).open(workspace)
  }

  async control<O extends OperationName>(op: O, input: InputOf<O>): Promise<OutputOf<O>> {
    const link = await socketConnector(controlSocketPath(this.dataDir))({})
    try {
      return (await link.call(op as never, input as never, `c_${this.name}_${++this.#asked}`)) as OutputOf<O>
    } finally {
      await link.close()
    }
  }

  connector(workspace: string): Connector {
    return socketConnector(socketPathOf(this.dataDir, workspace))
  }

  async close(): Promise<void> {
    await this.stop()
    rmSync(this.dataDir, { recursive: true, force: true })
  }
}
