// The relay of a lift: a daemon on its own port, in memory or kept for the project, and the feed of its messages. It knows nothing of panes.

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
/** The directory of a lift that was killed stays for this long. */
const keptMs = 10 * 60_000
/** The length of the project's name in the name of the directory where its messages are kept. */
const projectNameCharsMax = 40

export interface LiftRelayOptions {
  roles: readonly string[]
  port: number
  /** A directory that is private to this lift and removed with it: for the files of the panes, and the data unless it is kept. */
  directory: string
  /** The project's directory, if its messages are kept for the next lift. */
  keepIn?: string
}

/** A private, temporary and new directory for a lift. */
export function newLiftDirectory(): string {
  forgetKilled(tmpdir())
  return mkdtempSync(join(tmpdir(), directoryPrefix))
}

/** Removes the directories of lifts that were killed. A courtesy: one that cannot be read or removed stays. */
function forgetKilled(temporary: string): void {
  for (const name of readdirSync(temporary).filter((each) => each.startsWith(directoryPrefix)))
    try {
      if (isLeft(join(temporary, name))) removeLiftDirectory(join(temporary, name))
    } catch {}
}

/** Whether the directory is ours, and the relay that it was made for has ended. Anybody may make one of this name. */
function isLeft(directory: string): boolean {
  const { uid, mtimeMs } = lstatSync(directory)
  // A young directory stays: whoever started the lift may still read there why it failed.
  if (uid !== process.getuid?.() || Date.now() - mtimeMs < keptMs) return false
  const [pid, space] = (readForeignText(servingPath(directory), { within: directory }) ?? '').split(' ')
  return Number(pid) > 0 && space === pidSpace() && isProcessGone(Number(pid))
}

/** The file with the process id of the relay, and the namespace in which that number means anything. */
function servingPath(directory: string): string {
  return join(directory, 'serving')
}

/** The namespace of process ids: a sandbox may have its own, and share the temporary directory. */
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
    // `localhost` is the host name in the configurations of editors.
    this.url = `http://localhost:${new URL(daemon.url as string).port}`
  }

  static async start({ roles, port, directory, keepIn }: LiftRelayOptions, print: Printer): Promise<LiftRelay> {
    const dataDir = keepIn === undefined ? join(directory, 'data') : keptDir(keepIn)
    writeFileSync(servingPath(directory), `${process.pid} ${pidSpace()}`, { mode: 0o600 })
    // The lift has keys and sockets of its own, not those of the user's relay.
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

  /** A link to the page of this lift; it works once. */
  async pageLink(): Promise<string> {
    const env = { ...process.env, RELAY_DATA_DIR: this.dataDir }
    return (await controlAsPerson(env, (link) => link.call('page.link', { workspace }, nextCommandId('c')))).url
  }

  /** Shows each message until `ending`, or until the daemon had to stop. */
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

/** The command that prints another link to the page. It names the data directory, because `dashboard` looks in the usual one. */
function linkCommand(dataDir: string, ownName: string): string {
  return `RELAY_DATA_DIR=${shellQuote(dataDir)} ${ownName} dashboard --project ${workspace}`
}

/** The data directory of a lift that is kept: in the owner's, not in the project, because a repository could bring files that the relay would trust. */
function keptDir(project: string): string {
  const path = realpathSync(project)
  const hash = createHash('sha256').update(path).digest('hex').slice(0, 12)
  return join(dataDirOf(process.env), 'lifts', `${basename(path).slice(0, projectNameCharsMax)}-${hash}`)
}
