// Which workspace a command means, as whom it acts there, and the connection for both. Starting a daemon is starting.ts's affair.

import { dirname, join } from 'node:path'
import {
  type Connector,
  DaemonNotRunningError,
  findDaemon,
  type Hello,
  isAlive,
  RelayClient,
  socketConnector,
  type Welcome,
} from '@agent-relay/sdk'
import { controlSocketPath, credentialsPath, dataDir, type Env, setting } from '@agent-relay/sdk/discover'
import { chooseProject } from '../config.ts'
import { CredentialsFile } from '../credentials-file.ts'
import { RefusalError } from '../refusal-error.ts'
import { version } from '../version.ts'
import { CommandError, exits, type Invocation } from './command.ts'
import { loginName } from './login-name.ts'
import type { Print } from './print.ts'
import { homely } from './text.ts'

/** agent: acts as someone. anyone: only looks, and registers nobody unless a name was given. */
type Need = 'agent' | 'anyone'

export interface Standing {
  client: RelayClient
  welcome: Welcome
}

async function connect(invocation: Invocation, need: Need): Promise<Standing> {
  const { env, options, print } = invocation
  const socketPath = await findSocket(invocation)
  const { workspaceId, workspace, version: running } = await ask(socketPath)
  sayVersion(print, running)
  const key = keyOf(workspaceId, socketPath, env)
  const who = identity(env, options.as)
  const hello = helloAs(
    who,
    key,
    need,
    `no key for workspace ${workspace} in ${homely(credentialsPath(env), env.HOME)}`,
  )
  const { name: agentName, type: agentType, ...rest } = hello
  const connect = ownersConnector(socketPath, workspaceId, env)
  const client = new RelayClient({ ...rest, agentName, agentType, connect, autoConnect: false })
  const welcome = await client.connect()
  if (hello.name && key !== undefined && welcome.token !== undefined && hello.type !== 'human') {
    print.say(`${welcome.agent} is new in ${welcome.workspace}: registered as an agent.`)
  }
  return { client, welcome }
}

/** Runs `work` with a connection and says goodbye whatever comes of it. */
export async function withClient(invocation: Invocation, need: Need, work: (standing: Standing) => Promise<void>) {
  const standing = await invocation.print.during('connecting', connect(invocation, need))
  try {
    await work(standing)
  } finally {
    await standing.client.disconnect()
  }
}

/** A running daemon in which this workspace is not open is told apart from no daemon at all. */
async function findSocket({ env, options, cwd }: Invocation): Promise<string> {
  if (options.project !== undefined) chooseProject('/', env, options.project)
  try {
    return (await findDaemon({ cwd, env, project: options.project })).socketPath
  } catch (error) {
    if (!(error instanceof DaemonNotRunningError) || cwd === undefined) throw error
    const isNamedBySocket = options.project === undefined && setting(env, 'RELAY_SOCKET') !== undefined
    if (isNamedBySocket || !(await isAlive(controlSocketPath(dataDir(env), env)))) throw error
    throw new RefusalError('workspace.unknown', { workspace: chooseProject(cwd, env, options.project).project })
  }
}

/** Which workspace answers there. Its key can only be shown in a HELLO, so this one is said without. */
async function ask(socketPath: string): Promise<Welcome> {
  const link = await socketConnector(socketPath)({})
  void link.close()
  return link.welcome
}

/** In the owner's file, or beside the socket: a `.relay/config.json` may lead to a data directory that is not the usual one. */
export function keyOf(workspaceId: string, socketPath: string, env: Env): string | undefined {
  const beside = join(dirname(socketPath), '..', '..', 'credentials.json')
  return new CredentialsFile(credentialsPath(env)).keyOf(workspaceId) ?? new CredentialsFile(beside).keyOf(workspaceId)
}

/** Reads the key anew for every connection: a feed outlives a rotation, and the former key opens nothing. */
export function ownersConnector(socketPath: string, workspaceId: string, env: Env): Connector {
  const open = socketConnector(socketPath)
  return (hello) => open(hello.key === undefined ? hello : { ...hello, key: keyOf(workspaceId, socketPath, env) })
}

export function sayVersion(print: Print, running: string): void {
  if (running === version) return
  print.say(
    `This is agent-relay ${version}, the daemon runs ${running}. To bring them together: agent-relay daemon restart`,
  )
}

interface Identity {
  /** Undefined where nobody was named: the person at the keyboard. */
  name?: string
  token?: string
}

/** A token in the environment belongs to the name beside it, not to another that `--as` names. */
function identity(env: Env, as: string | undefined): Identity {
  const named = setting(env, 'RELAY_AGENT_NAME')
  const token = setting(env, 'RELAY_AGENT_TOKEN')
  const isItsToken = as === undefined || named === undefined || as === named
  return { name: as ?? named, token: isItsToken ? token : undefined }
}

/** A token acts as its agent alone, so the key is not shown beside it. */
function helloAs({ name, token }: Identity, key: string | undefined, need: Need, lack: string): Hello {
  if (token !== undefined) return { name, token }
  if (name === undefined && need === 'anyone') return { key }
  const me = loginName()
  if (key !== undefined) return { name: name ?? me, key, type: name === undefined || name === me ? 'human' : undefined }
  if (name !== undefined) return { name, strict: true }
  throw new CommandError(
    `Not allowed: to act as ${me}, a person, takes the key, and there is ${lack}. Act as an agent: --as NAME`,
    exits.denied,
  )
}
