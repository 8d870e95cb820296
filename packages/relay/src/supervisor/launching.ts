// Prepares the start of a worker: the program's file, its arguments, its environment, and the files it needs. Runs only the commands that a CLI
// needs beforehand; the program itself is started in worker.ts.

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { accessSync, constants, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { delimiter, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { programFolders } from '@agent-relay/sdk/internal/discover'
import type { ControlName } from '@agent-relay/sdk/protocol'
import type { WorkerRow } from '../core/view.ts'
import { attempt } from '../machine/attempt.ts'
import { Sequences } from '../machine/sequences.ts'
import type { CliServer } from './cli-server.ts'
import type { CompanionOptions } from './companion-server.ts'
import { acpHarness } from './harness/acp.ts'
import {
  type AcpHarness,
  type AcpMcpServer,
  type Harness,
  type LaunchContext,
  mcpServerEnvironment,
  type ProgramCommand,
  serverName,
} from './harness/harness.ts'
import { harnesses } from './harness/index.ts'
import type { TerminalOptions } from './pty.ts'

type Env = Readonly<Record<string, string | undefined>>

export interface LaunchOptions {
  row: WorkerRow
  harness: Harness
  /** Private to this worker; made here, removed when it ends. */
  directory: string
  /** The command that starts a hook without a Node; undefined where that is impossible. */
  launchHook?(): ProgramCommand | undefined
  socketPath: string
  /** The daemon's HTTP address, if it serves HTTP. */
  url?(): string | undefined
  token: string
  /** The daemon's environment. */
  env: Env
  setups: HarnessSetups
  /** The program is used over ACP, and not in a terminal. */
  isAcp: boolean
}

export interface PreparedLaunch {
  options: Omit<TerminalOptions, 'cols' | 'rows'>
  cliServer?: CliServer
  /** A server to be started before the program. */
  companion?: CompanionOptions
  acp?: { harness: AcpHarness; mcpServers: AcpMcpServer[]; conversation?: string }
}

/** Time limit of the CLI's own set-up command: its `mcp add` may take long, since it loads much of the CLI. */
const setupCommandMs = 60_000

export async function prepareLaunch(launching: LaunchOptions): Promise<PreparedLaunch> {
  const { row, harness, directory, launchHook, socketPath, token, env, setups, isAcp } = launching
  const { id, name, cwd, command = [], model, args = [], isInjected } = row
  const file = programFileOf(harness, command, env, cwd)
  if (file === undefined) throw new Error(`${command[0] ?? harness.program} is not there any more`)
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const identity = {
    [workerMarker]: id,
    RELAY_SOCKET: socketPath,
    RELAY_AGENT_NAME: name,
    RELAY_AGENT_TYPE: 'agent',
    RELAY_STRICT_AGENT_NAME: '1',
    RELAY_AGENT_TOKEN: token,
  }
  const port = harness.needsPort && !isAcp ? await freePort() : undefined
  const allowed = allowedEnvironment(env)
  const context: LaunchContext = {
    ...{ directory, server: mcpCommand('serve'), hook: launchHook?.() ?? mcpCommand('hook'), identity },
    ...{ model, args, cwd, env: allowed, port, isInjected },
    conversation: conversationOf(launching),
  }
  const speaks = isAcp ? (harness.acp ?? acpHarness.acp) : undefined
  // A command that the user gives has the arguments for ACP already.
  const launch = speaks ? speaks.launch(context) : harness.launch(context)
  if (speaks && command.length > 0) launch.args = [...args]
  for (const { path, text } of launch.files ?? []) writeFileSync(path, text, { mode: 0o600, flag: 'wx' })
  const environment = workerEnvironment(env, identity, isInjected ? {} : pathWithOurCommand(directory, env), launch.env)
  for (const before of launch.setupRuns ?? [])
    await setups.runOnce(harness.name, [file, before.args, env.HOME], () =>
      runSetupCommand(file, before.args, cwd, environment),
    )
  const options = { file, args: [...command.slice(1), ...launch.args], cwd, env: environment }
  if (!speaks) {
    const companion = launch.companion && { ...options, ...launch.companion }
    return { options, cliServer: harness.cliServer?.(context), companion: command.length > 0 ? undefined : companion }
  }
  const mcpServers = isInjected ? [mcpServer(speaks, context, launching)] : []
  return { options, acp: { harness: speaks, mcpServers, conversation: context.conversation?.id } }
}

/** Over ACP each agent has its own. */
const acpConversationIds = /^[\x21-\x7e]{1,200}$/

/** The form of the ids that programs give their conversations. Undefined for a program that takes an id of our making. */
export function conversationForm(harness: Harness | undefined, control: ControlName): RegExp | undefined {
  return control === 'acp' ? acpConversationIds : harness?.conversationIds
}

/**
 * The conversation that the program named, to go on with it; for one that takes an id, one that is made from that of the worker that began it. Throws if
 * the stored id does not have its form: it becomes an argument, and the database may be a restored one that anybody has written.
 */
function conversationOf({ row, harness, isAcp }: LaunchOptions): LaunchContext['conversation'] {
  const { id, asked, args = [], conversation = '' } = row
  const isContinued = asked?.continues !== undefined
  if (!isAcp && !harness.canContinue?.(args)) return undefined
  const form = conversationForm(harness, isAcp ? 'acp' : 'pty')
  if (form) {
    if (!isContinued) return undefined
    if (!form.test(conversation)) throw new Error('the stored id of its conversation is not valid')
    return { id: conversation, isContinued }
  }
  const hex = createHash('sha256')
    .update(`conversation of ${asked?.continues ?? id}`)
    .digest('hex')
  // A UUID of version 8, which is for ids of one's own making.
  const uuid = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)]
  return { id: uuid.join('-'), isContinued }
}

/** Our MCP server in the form of ACP's `session/new`: over a pipe, so that its token stands in no argument. */
function mcpServer(
  { mcp }: AcpHarness,
  { server, identity }: LaunchContext,
  { url, token }: LaunchOptions,
): AcpMcpServer {
  const listed = (values: Record<string, string>) => Object.entries(values).map(([name, value]) => ({ name, value }))
  if (mcp === 'stdio')
    return {
      name: serverName,
      ...server,
      args: [...server.args],
      env: listed({ ...identity, ...mcpServerEnvironment }),
    }
  const headers = listed({ Authorization: `Bearer ${token}` })
  return { type: 'http', name: serverName, url: `${url?.()}/mcp`, headers }
}

/** Puts our command on PATH: a program without our tools answers with `agent-relay send` of this installation, whatever else is on PATH. */
function pathWithOurCommand(directory: string, env: Env): { PATH: string } {
  const folder = join(directory, 'bin')
  // The folder is there already where a program that speaks no ACP is started in a terminal instead.
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { mode: 0o700 })
  symlinkSync(fileURLToPath(new URL('../../bin/agent-relay.cjs', import.meta.url)), join(folder, 'agent-relay'))
  return { PATH: [folder, env.PATH ?? ''].join(delimiter) }
}

/** Returns the executable file that would be run; undefined if there is none. */
export function programFileOf(harness: Harness, command: readonly string[], env: Env, cwd: string): string | undefined {
  const name = command[0] ?? harness.program
  if (name === undefined) return undefined
  if (name.includes('/')) return isExecutableFile(resolve(cwd, name)) ? resolve(cwd, name) : undefined
  return programFolders(env.PATH)
    .map((folder) => join(folder, name))
    .find(isExecutableFile)
}

/** Returns the command for asking a CLI about itself, with the environment it may see; undefined if the CLI is not installed. */
export function cliCommandOf(harness: Harness, env: Env): { file: string; env: Record<string, string> } | undefined {
  const file = programFileOf(harness, [], env, '/')
  return file === undefined ? undefined : { file, env: allowedEnvironment(env) }
}

function isExecutableFile(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/** Returns a command of our MCP package, run by the daemon's own Node, so that a worker's server has its daemon's version. */
export function mcpCommand(verb: string): ProgramCommand {
  const serve = createRequire(import.meta.url).resolve('@agent-relay/mcp/serve')
  return { command: process.execPath, args: [join(dirname(dirname(serve)), 'bin', 'agent-relay-mcp.cjs'), verb] }
}

/** Runs a set-up command of the CLI itself before its start. */
export function runSetupCommand(file: string, args: string[], cwd: string, env: Record<string, string>): Promise<void> {
  return new Promise((done, fail) => {
    execFile(file, args, { cwd, env, timeout: setupCommandMs }, (error, _stdout, stderr) =>
      error
        ? fail(new Error(`${file} ${args.slice(0, 2).join(' ')} failed: ${stderr.trim() || error.message}`))
        : done(),
    )
  })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  await new Promise((done) => server.close(done))
  return port
}

/** The marker by which everything that a worker has started is found again. */
export const workerMarker = 'RELAY_WORKER'

/**
 * The variables of the daemon's environment that a worker's program may see: this list with the variables of all CLIs. No workspace key, nothing
 * that makes a program load other code (NODE_OPTIONS, LD_PRELOAD), no credentials but those of models.
 */
const allowedVariables = [
  // terminal, locale, paths
  ...['COLORTERM', 'NO_COLOR', 'FORCE_COLOR', 'LANG', 'LANGUAGE', 'TZ', 'PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL'],
  ...['TMPDIR', 'EDITOR', 'VISUAL', 'PAGER'],
  // for our own hooks and MCP server in the worker
  'RELAY_PATIENCE',
  // proxies and certificates
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'all_proxy', 'no_proxy'],
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE', 'GIT_SSL_CAINFO'],
  // models that several CLIs take
  ...['OPENROUTER_API_KEY', 'MISTRAL_API_KEY', 'GROQ_API_KEY', 'DEEPSEEK_API_KEY', 'XAI_API_KEY', 'OLLAMA_HOST'],
  ...harnesses.flatMap(({ variables = [] }) => variables),
]

const allowedNames = new Set(allowedVariables)
const isAllowed = (name: string) => allowedNames.has(name) || name.startsWith('LC_') || name.startsWith('XDG_')

export function allowedEnvironment(env: Env): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) if (value !== undefined && isAllowed(name)) kept[name] = value
  return kept
}

/** The environment of a worker's program: the allowed part, the terminal's variables, and those made for this worker. */
export function workerEnvironment(env: Env, ...added: Env[]): Record<string, string> {
  const terminal = { TERM: 'xterm-256color', COLORTERM: 'truecolor' }
  const all = Object.assign({}, allowedEnvironment(env), terminal, ...added) as Env
  return Object.fromEntries(Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined))
}

/** Commands that a CLI needs once, since it keeps the result in its own configuration. Remembered by content; run again when it did not help. */
export class HarnessSetups {
  readonly #directory: string
  /** Runs by harness: two workers that start together must not make one CLI write its file twice at once. */
  readonly #underWay = new Sequences()

  /** `directory`: the folder of the marks, which outlives the workers and is shared by all workspaces of a daemon. */
  constructor(directory: string) {
    this.#directory = directory
  }

  /** Runs the work unless it was done before. `about` is everything that the work depends on: another `about` runs it again. */
  runOnce(harness: string, about: unknown, work: () => Promise<void>): Promise<void> {
    const mark = createHash('sha256').update(JSON.stringify(about)).digest('hex')
    return this.#underWay.run(harness, async () => {
      if (attempt(() => readFileSync(join(this.#directory, harness), 'utf8')) === mark) return
      await work()
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 })
      writeFileSync(join(this.#directory, harness), mark, { mode: 0o600 })
    })
  }

  /** Forgets the setup, so that the next start repeats it: the user may have removed its result. */
  forget(harness: string): void {
    rmSync(join(this.#directory, harness), { force: true })
  }
}
