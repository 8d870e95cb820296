// Finds the workspace that a command means and the agent that it acts as, and connects to both. Starting a daemon is in commands/daemon/starting.ts.

import type { Socket } from 'node:net'
import { userInfo } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { RelayClient, RelayError } from '@agent-relay/sdk'
import { credentialsPath, dataDir, type Env, reachDaemon, setting } from '@agent-relay/sdk/internal/discover'
import { type Connector, daemonName, type Hello, type Link, socketConnector, type Welcome } from '@agent-relay/sdk/wire'
import { nearestNames } from '../core/nearest.ts'
import { RefusalError } from '../core/refusal-error.ts'
import { SharedFile } from '../machine/cluster-file.ts'
import { chooseProject, configuredProject, type ProjectChoice } from '../machine/config.ts'
import { CredentialsFile } from '../machine/credentials-file.ts'
import { DataDirectory } from '../machine/data-directory.ts'
import { release } from '../machine/version.ts'
import { type CommandContext, CommandError, exitCodes } from './command.ts'
import { nextCommandId, withControl } from './control-socket.ts'
import { withProcessProof } from './person.ts'
import type { Printer } from './print.ts'
import { withTilde } from './text.ts'

/**
 * The standing that a command needs. `agent`: acts as someone. `anyone`: only looks, and registers nobody unless a name was given. `holder`: looks at
 * everything, with the key.
 */
type NeededStanding = 'agent' | 'anyone' | 'holder'

export interface CommandConnection {
  client: RelayClient
  welcome: Welcome
}

interface KnownWorkspace {
  id: string
  name: string
  key?: string
}

async function connect(
  context: CommandContext,
  need: NeededStanding,
  own?: Pick<Hello, 'process'>,
): Promise<CommandConnection> {
  const { env, options, print } = context
  const { socketPath, socket } = await findSocket(context)
  const identity = need === 'holder' ? {} : identityOf(env, options.as)
  const { name, token } = identity
  const connectTo = ({ id, name, key }: KnownWorkspace, reached?: Socket) => {
    const hello = helloAs(identity, key, need, () => missingKeyText(name, env))
    return connectAs({ ...hello, ...own }, ownerConnector(socketPath, id, env, reached))
  }
  const connectByToken = () => connectAs({ name, token, ...own }, socketConnector(socketPath, socket))
  // Where a token tells who calls, no key is needed.
  const kept = token === undefined ? keptWorkspace(socketPath, env) : undefined
  const first = kept ? connectTo(kept, socket) : token === undefined ? undefined : connectByToken()
  const atOnce = await first?.catch(() => undefined)
  if (atOnce && (kept === undefined || atOnce.welcome.workspaceId === kept.id)) {
    warnOfOtherVersion(print, atOnce.welcome.version)
    return sayWhoIsNew(print, atOnce)
  }
  // Another workspace answered, or the connection was refused. Now the workspace is asked which it is, and what is refused then is told.
  await atOnce?.client.disconnect()
  const {
    workspaceId: id,
    workspace,
    version,
  } = await askWorkspace(socketConnector(socketPath, first ? undefined : socket))
  warnOfOtherVersion(print, version)
  return sayWhoIsNew(print, await connectTo({ id, name: workspace, key: workspaceKeyOf(id, socketPath, env) }))
}

/**
 * The workspace behind a socket with its key, as the owner's file has them, so that a command needs one connection and not two; undefined where the file does
 * not say.
 */
function keptWorkspace(socketPath: string, env: Env): KnownWorkspace | undefined {
  const folder = dirname(socketPath)
  const name = basename(folder)
  const kept = new CredentialsFile(credentialsPath(env)).onlyOf(name, dirname(dirname(folder)))
  return kept && { ...kept, name }
}

async function connectAs(hello: Hello, connect: Connector): Promise<CommandConnection & { hello: Hello }> {
  // The SDK's text about a changed name is for programs; people are told by sayWhoIsNew.
  const client = new RelayClient({ hello, onRenamed: () => {}, ids: nextCommandId, connect, autoConnect: false })
  return { client, hello, welcome: await client.connect() }
}

function sayWhoIsNew(
  print: Printer,
  { client, hello, welcome }: CommandConnection & { hello: Hello },
): CommandConnection {
  if (welcome.token !== undefined) {
    if (welcome.because !== undefined) print.say(welcome.because)
    if (hello.name && hello.key !== undefined && hello.type !== 'human')
      print.say(`${welcome.agent} is new in ${welcome.workspace}: registered as an agent.`)
  }
  return { client, welcome }
}

/** Runs `work` with a connection, and closes it in any case. */
export async function withClient(
  context: CommandContext,
  need: NeededStanding,
  work: (connection: CommandConnection) => Promise<void>,
) {
  const connection = await context.print.during('connecting', connect(context, need))
  try {
    await work(connection)
  } finally {
    await connection.client.disconnect()
  }
}

/** Like withClient, for operations of persons only: the daemon can ask where this process stands. */
export async function withClientAsPerson(
  context: CommandContext,
  work: (connection: CommandConnection) => Promise<void>,
) {
  const connection = await context.print.during('connecting', connect(context, 'agent', { process: process.pid }))
  try {
    await withProcessProof(connection, () => work(connection))
  } finally {
    await connection.client.disconnect()
  }
}

/** Runs `work` on the daemon's control socket, and tells the person where the daemon is of another version. */
export function withDaemon<T>(
  { env, print }: Pick<CommandContext, 'env' | 'print'>,
  work: (link: Link) => Promise<T>,
): Promise<T> {
  return withControl(env, (link) => {
    warnOfOtherVersion(print, link.welcome.version)
    return work(link)
  })
}

type WorkspaceChoice = Pick<CommandContext, 'cwd' | 'options'>

/** The workspace that a command means and may make, whether or not it is open. */
export function chooseWorkspace({ cwd, options }: WorkspaceChoice, env: Env): ProjectChoice {
  if (cwd === undefined && options.project === undefined) {
    throw new CommandError(
      'The working directory is gone. Change to another, or name a workspace: --project NAME',
      exitCodes.usage,
    )
  }
  return chooseProject(cwd ?? '/', env, options.project)
}

/** The workspace that a command means and does not make. */
export function meantWorkspace({ cwd, options }: WorkspaceChoice, env: Env): string {
  return configuredProject(cwd ?? '/', env, options.project)
}

async function findSocket({ env, options, cwd }: CommandContext): ReturnType<typeof reachDaemon> {
  if (options.project !== undefined) configuredProject('/', env, options.project)
  try {
    return await reachDaemon({ cwd, env, project: options.project })
  } catch (error) {
    const { code, details } = error instanceof RelayError ? error : {}
    if (code === 'workspace.closed') throw new RefusalError(code, details)
    if (code !== 'workspace.unknown') throw error
    const names = new DataDirectory(dataDir(env)).workspaces()
    throw new RefusalError(code, { ...details, nearest: nearestNames(String(details?.workspace), names) })
  }
}

/** Asks which workspace answers at a socket. Sent without a key, because the key depends on the workspace. */
async function askWorkspace(connect: Connector): Promise<Welcome> {
  const link = await connect({})
  void link.close()
  return link.welcome
}

/** The key from the owner's file, or from the file beside the socket: a `.relay/config.json` may lead to a data directory that is not the usual one. */
export function workspaceKeyOf(workspaceId: string, socketPath: string, env: Env): string | undefined {
  const beside = join(dirname(socketPath), '..', '..', 'credentials.json')
  return new CredentialsFile(credentialsPath(env)).keyOf(workspaceId) ?? new CredentialsFile(beside).keyOf(workspaceId)
}

/** Connects, each time with the key as it is then: it may have been rotated while a feed was running. `reached`: the connection to use first. */
export function ownerConnector(socketPath: string, workspaceId: string, env: Env, reached?: Socket): Connector {
  const open = socketConnector(socketPath, reached)
  return (hello) =>
    open(hello.key === undefined ? hello : { ...hello, key: workspaceKeyOf(workspaceId, socketPath, env) })
}

export function warnOfOtherVersion(print: Printer, running: string): void {
  if (running === release) return
  print.say(`This is agent-relay ${release}, but the daemon runs ${running}. To update it: agent-relay daemon upgrade`)
}

/** Prints why workspaces cannot be opened, and what helps. */
export function printWorkspaceFaults(print: Printer, workspaces: readonly { name: string; fault?: string }[]): void {
  for (const { name, fault } of workspaces)
    if (fault !== undefined) print.say(`Workspace ${name} is not open: ${fault}`)
}

function missingKeyText(workspace: string, env: Env): string {
  return `no key for workspace ${workspace} in ${withTilde(credentialsPath(env), env.HOME)}.${missingKeyFix(workspace, env)}`
}

/** The fix for a missing key of a shared workspace, which was made on another machine; empty for any other workspace. */
export function missingKeyFix(workspace: string, env: Env): string {
  try {
    if (!new SharedFile(dataDir(env), workspace).read()) return ''
  } catch {
    // The workspace is shared, as far as the file says anything. Whoever opens it is told what is wrong with the file.
  }
  const command = `agent-relay workspace key ${workspace}`
  return ` It is shared, and was made on another machine: ${command} prints its key there, and ${command} --keep keeps it here.`
}

interface Identity {
  /** Undefined where nobody was named, which means the person at the keyboard. */
  name?: string
  token?: string
}

/** The name and token to act with. A token in the environment belongs to the name beside it, not to another that `--as` names. */
function identityOf(env: Env, as: string | undefined): Identity {
  const named = setting(env, 'RELAY_AGENT_NAME')
  const token = setting(env, 'RELAY_AGENT_TOKEN')
  const isItsToken = as === undefined || named === undefined || as === named
  return { name: as ?? named, token: isItsToken ? token : undefined }
}

/** The greeting of a connection. A token acts as its agent alone, so the key is not shown beside it. */
function helloAs(
  { name, token }: Identity,
  key: string | undefined,
  need: NeededStanding,
  missingKey: () => string,
): Hello {
  if (token !== undefined) return { name, token }
  if (need === 'holder' && key === undefined)
    throw new CommandError(
      `Not allowed: this takes the key of the workspace, and there is ${missingKey()}`,
      exitCodes.denied,
    )
  if (name === undefined && need !== 'agent') return { key }
  const me = loginName()
  if (key !== undefined) return { name: name ?? me, key, type: name === undefined || name === me ? 'human' : undefined }
  if (name !== undefined) return { name, strict: true }
  throw new CommandError(
    `Not allowed: to act as ${me}, a person, takes the key, and there is ${missingKey()} Act as an agent: --as NAME`,
    exitCodes.denied,
  )
}

/** The name of the person at this machine: the login name, changed so that it is a valid agent name. */
export function loginName(): string {
  const fitted = login()
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 64)
  return fitted === '' || fitted === daemonName ? 'human' : fitted
}

function login(): string {
  try {
    return userInfo().username
  } catch {
    // The user id has no entry in the system's list, as in some containers.
    return process.env.USER ?? process.env.LOGNAME ?? ''
  }
}
