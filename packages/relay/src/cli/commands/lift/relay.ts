// The relay of a lift: a daemon on its own port, in memory or stored for the project, and the feed of its messages. The panes are in role-panes.ts.

import { createHash } from 'node:crypto'
import { lstatSync, mkdtempSync, readdirSync, readlinkSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { RelayClient } from '@agent-relay/sdk'
import { shellQuote } from '@agent-relay/sdk/internal/command-words'
import {
  credentialsPath,
  dataDir as dataDirOf,
  type Env,
  readForeignText,
  socketPathOf,
} from '@agent-relay/sdk/internal/discover'
import type { Daemon } from '../../../daemon/daemon.ts'
import type { LiftRoles } from '../../../daemon/lift-roles.ts'
import { collectWhenIdle } from '../../../machine/idle-memory.ts'
import { isProcessGone } from '../../../machine/is-process-gone.ts'
import { CommandError, exitCodes } from '../../command.ts'
import { loginName, ownerConnector, workspaceKeyOf } from '../../connection.ts'
import { nextCommandId } from '../../control-socket.ts'
import { reportFailedTasks } from '../../ending.ts'
import { showMessageFeed } from '../../feed.ts'
import { ownNameAnywhere } from '../../own-name.ts'
import { controlAsPerson } from '../../person.ts'
import type { Printer } from '../../print.ts'

const workspace = 'lift'
const directoryPrefix = 'agent-relay-lift-'
/** Time in ms after which the directory of a lift that was killed is deleted. */
const keptMs = 10 * 60_000
/** Maximum length of the project's name as a part of the name of the directory for its messages. */
const projectNameCharsMax = 40

export interface LiftRelayOptions {
  roles: readonly string[]
  port: number
  /** A temporary directory for this lift alone, deleted at its end. It has the files of the panes, and the data unless `keepIn` is set. */
  directory: string
  /** The project's directory, if the lift's messages are stored for the project's next lift. */
  keepIn?: string
}

/** Creates a new, private, temporary directory for a lift. Deletes those of lifts that were killed. */
export function newLiftDirectory(): string {
  forgetKilled(tmpdir())
  return mkdtempSync(join(tmpdir(), directoryPrefix))
}

/** Deletes the directories of lifts that were killed. Errors are ignored: such a directory does no harm. */
function forgetKilled(temporary: string): void {
  for (const name of readdirSync(temporary).filter((each) => each.startsWith(directoryPrefix)))
    try {
      if (isLeft(join(temporary, name))) removeLiftDirectory(join(temporary, name))
    } catch {}
}

/** Whether a directory was made for a lift of this user that has ended. Other users may make directories of such a name. */
function isLeft(directory: string): boolean {
  const { uid, mtimeMs } = lstatSync(directory)
  // A new directory is kept for a while: its lift may have failed to start, and the directory tells the person why.
  if (uid !== process.getuid?.() || Date.now() - mtimeMs < keptMs) return false
  const [pid, space] = (readForeignText(servingPath(directory), { within: directory }) ?? '').split(' ')
  return Number(pid) > 0 && space === pidSpace() && isProcessGone(Number(pid))
}

/** The file with the process id of the lift's relay, and the namespace of that process id. */
function servingPath(directory: string): string {
  return join(directory, 'serving')
}

/** Returns the namespace of process ids: a sandbox may have its own, although it shares the temporary directory. */
function pidSpace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}

export function removeLiftDirectory(directory: string): void {
  rmSync(directory, { recursive: true, force: true })
}

export function portTakenError(port: number): CommandError {
  return new CommandError(`relay already running? kill it with: kill $(lsof -ti:${port})`, exitCodes.refused)
}

export class LiftRelay {
  readonly url: string
  readonly dataDir: string
  readonly #daemon: Daemon
  readonly roles: LiftRoles
  readonly #client: RelayClient
  readonly #stopped: AbortSignal

  private constructor(daemon: Daemon, dataDir: string, roles: LiftRoles, client: RelayClient, stopped: AbortSignal) {
    this.#daemon = daemon
    this.dataDir = dataDir
    this.roles = roles
    this.#client = client
    this.#stopped = stopped
    // The host name is `localhost`, as in the editors' configurations.
    this.url = `http://localhost:${new URL(daemon.url as string).port}`
  }

  static async start({ roles, port, directory, keepIn }: LiftRelayOptions, print: Printer): Promise<LiftRelay> {
    const dataDir = keepIn === undefined ? join(directory, 'data') : keptDir(keepIn)
    writeFileSync(servingPath(directory), `${process.pid} ${pidSpace()}`, { mode: 0o600 })
    // The data directory is the lift's own, so keys and sockets of the user's relay are not used.
    const env: Env = { ...process.env, RELAY_DATA_DIR: dataDir }
    const ownName = ownNameAnywhere(env)
    const stopped = new AbortController()
    const onTrouble = (error: Error) => print.say(error.message)
    print.neverBlock()
    reportFailedTasks(onTrouble)
    collectWhenIdle()
    const [{ Daemon }, { liftRolesOf }] = await Promise.all([
      import('../../../daemon/daemon.ts'),
      import('../../../daemon/lift-roles.ts'),
    ])
    const daemon = await Daemon.start({
      dataDir,
      credentialsPath: credentialsPath(env),
      isMemory: keepIn === undefined,
      human: loginName(),
      http: { port, isOpen: true, home: workspace, linkCommand: linkCommand(dataDir, ownName), ownName },
      roles,
      onTrouble,
      onStop: (_, error) => stopped.abort(error),
    }).catch((error) => {
      throw (error as { refusal?: { code: string } }).refusal?.code === 'port.taken' ? portTakenError(port) : error
    })
    if (!daemon)
      throw new CommandError(`Another lift keeps its messages in ${dataDir} already. Leave --keep out.`, exitCodes.busy)
    try {
      const { entry } = await daemon.open(workspace)
      const key = workspaceKeyOf(entry.id ?? '', entry.socketPath, env)
      const connect = ownerConnector(entry.socketPath, entry.id ?? '', env)
      const client = new RelayClient({ connect, key, autoConnect: false })
      await client.connect()
      return new LiftRelay(daemon, dataDir, await liftRolesOf(daemon, workspace), client, stopped.signal)
    } catch (error) {
      await daemon.stop()
      throw error
    }
  }

  get socketPath(): string {
    return socketPathOf(this.dataDir, workspace)
  }

  /** Creates a link to the lift's page, which works once. */
  async pageLink(): Promise<string> {
    const env = { ...process.env, RELAY_DATA_DIR: this.dataDir }
    return (await controlAsPerson(env, (link) => link.call('page.link', { workspace }, nextCommandId('c')))).url
  }

  /** Prints each message until `ending`, or until the daemon had to stop. */
  async showMessages(print: Printer, ending: AbortSignal): Promise<void> {
    await showMessageFeed(this.#client, print, AbortSignal.any([ending, this.#stopped]))
    print.exitAfterLastLines()
    const { reason } = this.#stopped
    if (this.#stopped.aborted && reason instanceof Error && reason.name !== 'AbortError')
      throw new CommandError(`The relay had to stop: ${reason.message}`, exitCodes.refused)
  }

  async stop(): Promise<void> {
    await this.#client.disconnect()
    await this.#daemon.stop()
  }
}

/** Returns the command that prints another link to the page. It names the lift's data directory, since `dashboard` uses the user's by default. */
function linkCommand(dataDir: string, ownName: string): string {
  return `RELAY_DATA_DIR=${shellQuote(dataDir)} ${ownName} dashboard --project ${workspace}`
}

/**
 * Returns the data directory of a lift whose messages are stored. It lies in the user's own data directory: one in the project could come with a repository,
 * and the relay would trust it.
 */
function keptDir(project: string): string {
  const path = realpathSync(project)
  const hash = createHash('sha256').update(path).digest('hex').slice(0, 12)
  return join(dataDirOf(process.env), 'lifts', `${basename(path).slice(0, projectNameCharsMax)}-${hash}`)
}
