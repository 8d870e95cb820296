// The relay of a lift: a daemon of its own on its own port, in memory or in the project, and the feed of its messages. Panes are not known here.

import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RelayClient } from '@agent-relay/sdk'
import { credentialsPath, type Env, socketPathOf } from '@agent-relay/sdk/discover'
import { Daemon } from '../../daemon.ts'
import { CommandError, exits } from '../command.ts'
import { keyOf, ownersConnector } from '../context.ts'
import { showFeed } from '../feed.ts'
import { outliveTasks } from '../outliving.ts'
import type { Print } from '../print.ts'

const workspace = 'lift'
const directoryPrefix = 'agent-relay-lift-'

export interface RelayWish {
  roles: readonly string[]
  port: number
  /** Private to this lift, and removed with it: the data, unless it is kept, and the files of the panes. */
  directory: string
  /** The project's directory, where the messages shall outlive the lift. */
  keepIn?: string
}

/** Private, temporary and new. */
export function newDirectory(): string {
  return mkdtempSync(join(tmpdir(), directoryPrefix))
}

export function forget(directory: string): void {
  rmSync(directory, { recursive: true, force: true })
}

export function portTaken(port: number): CommandError {
  return new CommandError(`relay already running? kill it with: kill $(lsof -ti:${port})`, exits.refused)
}

type Workspace = Awaited<ReturnType<Daemon['open']>>['dispatch']['workspace']

export class LiftRelay {
  readonly url: string
  readonly dataDir: string
  readonly #daemon: Daemon
  readonly #workspace: Workspace
  readonly #client: RelayClient
  readonly #stopped: AbortSignal

  private constructor(daemon: Daemon, dataDir: string, opened: Workspace, client: RelayClient, stopped: AbortSignal) {
    this.#daemon = daemon
    this.dataDir = dataDir
    this.#workspace = opened
    this.#client = client
    this.#stopped = stopped
    // The name that stands in every configuration.
    this.url = `http://localhost:${new URL(daemon.url as string).port}`
  }

  static async start({ roles, port, directory, keepIn }: RelayWish, print: Print): Promise<LiftRelay> {
    const dataDir = keepIn === undefined ? join(directory, 'data') : keptDir(keepIn)
    // Its own keys and sockets, whatever the user's settings say.
    const env: Env = { ...process.env, RELAY_DATA_DIR: dataDir }
    const stopped = new AbortController()
    const onTrouble = (error: Error) => print.say(error.message)
    outliveTasks(onTrouble)
    const daemon = await Daemon.start({
      dataDir,
      credentialsPath: credentialsPath(env),
      isMemory: keepIn === undefined,
      http: { port, isOpen: true, home: workspace },
      roles,
      onTrouble,
      onStop: (_, error) => stopped.abort(error),
    }).catch((error) => {
      throw (error as { refusal?: { code: string } }).refusal?.code === 'port.taken' ? portTaken(port) : error
    })
    if (!daemon)
      throw new CommandError(`Another lift keeps its messages in ${dataDir} already. Leave --keep out.`, exits.busy)
    try {
      const { entry, dispatch } = await daemon.open(workspace)
      const key = keyOf(entry.id ?? '', entry.socketPath, env)
      const connect = ownersConnector(entry.socketPath, entry.id ?? '', env)
      const client = new RelayClient({ connect, key, autoConnect: false })
      await client.connect()
      return new LiftRelay(daemon, dataDir, dispatch.workspace, client, stopped.signal)
    } catch (error) {
      await daemon.stop()
      throw error
    }
  }

  get socketPath(): string {
    return socketPathOf(this.dataDir, workspace)
  }

  /** The role's MCP session has its tools. */
  isReady(role: string): boolean {
    return this.#workspace.sessions.isInitialized(role)
  }

  /** The newest message that waits for the role and nobody was handed; 0 for none. */
  newestFor(role: string): number {
    // Without a time to it: a session that died was handed it, and nobody has it now.
    const isFree = (receipt?: { until?: number }) => receipt?.until === undefined
    return this.#workspace.store.queries.waiting(role, isFree).newest
  }

  /** Shows each message until `ending`, or until the daemon had to stop. */
  async feed(print: Print, ending: AbortSignal): Promise<void> {
    await showFeed(this.#client, print, AbortSignal.any([ending, this.#stopped]))
    const { reason } = this.#stopped
    if (this.#stopped.aborted && reason instanceof Error && reason.name !== 'AbortError')
      throw new CommandError(`The relay had to stop: ${reason.message}`, exits.refused)
  }

  async stop(): Promise<void> {
    await this.#client.disconnect()
    await this.#daemon.stop()
  }
}

/** Beside the project's own `.relay/config.json`, and like it kept out of version control. */
function keptDir(project: string): string {
  const folder = join(project, '.relay')
  mkdirSync(folder, { recursive: true })
  const ignore = join(folder, '.gitignore')
  if (!existsSync(ignore)) writeFileSync(ignore, '*\n')
  return join(folder, 'lift')
}
