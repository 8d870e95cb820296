// Finds the workspace that a command means, and the agent that it acts as, and connects to the workspace as that agent. commands/daemon/starting.ts starts a
// daemon.

import type { Socket } from 'node:net'
import { userInfo } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { type RelayClient, RelayError } from '@agent-relay/sdk'
import { WorkspaceClient } from '@agent-relay/sdk/internal/client'
import { credentialsPath, dataDir, type Env, reachDaemon, setting } from '@agent-relay/sdk/internal/discover'
import { type Connector, daemonName, type Hello, type Link, socketConnector, type Welcome } from '@agent-relay/sdk/wire'
import { nearestNames } from '../core/nearest.ts'
import { RefusalError } from '../core/refusal-error.ts'
import { SharedWorkspaceFile } from '../machine/cluster-file.ts'
import { chooseProject, configuredProject, type ProjectChoice } from '../machine/config.ts'
import { CredentialsFile } from '../machine/credentials-file.ts'
import { DataDirectory } from '../machine/data-directory.ts'
import { versionWithBuildId } from '../machine/version.ts'
import { type CommandContext, CommandError, exitCodes } from './command.ts'
import { nextCommandId, withControl } from './control-socket.ts'
import { withProcessProof } from './person.ts'
import type { Printer } from './print.ts'
import { withTilde } from './text.ts'

/**
 * What a command needs of its session. `agent`: it acts as an agent. `anyone`: it only reads, and acts as an agent only if one was named. `holder`: it reads
 * everything, with the workspace's key.
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
  // The connection was refused, or another workspace answered than expected. So the workspace is asked for its id, and a refusal now is thrown.
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
  // The SDK's text about a changed name is for programs. For people, sayWhoIsNew prints one.
  const client = new WorkspaceClient(connect, { onRenamed: () => {}, ids: nextCommandId, autoConnect: false }, hello)
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

/** Runs `work` with a connection, which is closed afterwards in any case. */
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

/** Does the same as withClient, for operations that only a person may use: the process can prove to the daemon that a person runs it. */
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

/** Returns the workspace that a command means, open or not. The command may create it. */
export function chooseWorkspace({ cwd, options }: WorkspaceChoice, env: Env): ProjectChoice {
  if (cwd === undefined && options.project === undefined) {
    throw new CommandError(
      'The working directory is gone. Change to another, or name a workspace: --project NAME',
      exitCodes.usage,
    )
  }
  return chooseProject(cwd ?? '/', env, options.project)
}

/** Returns the name of the workspace that a command means, for commands that do not create it. */
export function workspaceOfCommand({ cwd, options }: WorkspaceChoice, env: Env): string {
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

/** Asks which workspace answers at a socket. No key is sent: it is not known before which one is the right one. */
async function askWorkspace(connect: Connector): Promise<Welcome> {
  const link = await connect({})
  void link.close()
  return link.welcome
}

/** Returns the workspace's key from the user's credentials file, or from the one of the socket's data directory, to which a `.relay/config.json` may lead. */
export function workspaceKeyOf(workspaceId: string, socketPath: string, env: Env): string | undefined {
  const beside = join(dirname(socketPath), '..', '..', 'credentials.json')
  return new CredentialsFile(credentialsPath(env)).keyOf(workspaceId) ?? new CredentialsFile(beside).keyOf(workspaceId)
}

/**
 * Returns a connector that reads the key again for each connection: it may be replaced while a command follows events. `reached`: a socket for the first
 * connection.
 */
export function ownerConnector(socketPath: string, workspaceId: string, env: Env, reached?: Socket): Connector {
  const open = socketConnector(socketPath, reached)
  return (hello) =>
    open(hello.key === undefined ? hello : { ...hello, key: workspaceKeyOf(workspaceId, socketPath, env) })
}

export function warnOfOtherVersion(print: Printer, running: string): void {
  if (running === versionWithBuildId) return
  print.say(
    `This is agent-relay ${versionWithBuildId}, but the daemon runs ${running}. To update it: agent-relay daemon upgrade`,
  )
}

/** Prints why workspaces cannot be opened, with the commands that help. */
export function printWorkspaceFaults(print: Printer, workspaces: readonly { name: string; fault?: string }[]): void {
  for (const { name, fault } of workspaces)
    if (fault !== undefined) print.say(`Workspace ${name} is not open: ${fault}`)
}

function missingKeyText(workspace: string, env: Env): string {
  return `no key for workspace ${workspace} in ${withTilde(credentialsPath(env), env.HOME)}.${missingKeyFix(workspace, env)}`
}

/** Returns the text on how to get the key of a shared workspace that was made on another machine; empty for other workspaces. */
export function missingKeyFix(workspace: string, env: Env): string {
  try {
    if (!new SharedWorkspaceFile(dataDir(env), workspace).read()) return ''
  } catch {
    // The file that marks the workspace as shared cannot be read. It counts as shared; opening it reports the error.
  }
  const command = `agent-relay workspace key ${workspace}`
  return ` It is shared, and was made on another machine: ${command} prints its key there, and ${command} --keep keeps it here.`
}

interface Identity {
  /** Undefined if no agent was named: the person at the keyboard acts. */
  name?: string
  token?: string
}

/** Returns the agent to act as. The token in the environment belongs to the agent named there, and is not used if `--as` names another one. */
function identityOf(env: Env, as: string | undefined): Identity {
  const named = setting(env, 'RELAY_AGENT_NAME')
  const token = setting(env, 'RELAY_AGENT_TOKEN')
  const isItsToken = as === undefined || named === undefined || as === named
  return { name: as ?? named, token: isItsToken ? token : undefined }
}

/** Returns the first frame of a connection. With a token the key is left out, since the session then acts only as the token's agent. */
function helloAs(
  { name, token }: Identity,
  key: string | undefined,
  need: NeededStanding,
  missingKey: () => string,
): Hello {
  if (token !== undefined) return { name, token }
  if (need === 'holder' && key === undefined)
    throw new CommandError(
      `Not allowed: this needs the key of the workspace, and there is ${missingKey()}`,
      exitCodes.denied,
    )
  if (name === undefined && need !== 'agent') return { key }
  const me = loginName()
  if (key !== undefined) return { name: name ?? me, key, type: name === undefined || name === me ? 'human' : undefined }
  if (name !== undefined) return { name, strict: true }
  throw new CommandError(
    `Not allowed: acting as ${me}, a person, needs the key, and there is ${missingKey()} Act as an agent: --as NAME`,
    exitCodes.denied,
  )
}

/** Returns the agent name of the person at this machine: the login name, changed to fit the rules for agent names. */
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
    // The system has no entry for the user id, as in some containers.
    return process.env.USER ?? process.env.LOGNAME ?? ''
  }
}
