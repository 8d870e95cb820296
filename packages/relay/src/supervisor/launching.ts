// Prepares the start of a worker: the program's file, its arguments, its environment, and the files it needs. Runs only the set-up commands that a
// CLI needs before; worker.ts starts the program itself.

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { accessSync, constants, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { delimiter, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { programFolders } from '@agent-relay/sdk/internal/discover'
import type { WorkerControlName } from '@agent-relay/sdk/protocol'
import type { WorkerRow } from '../core/view.ts'
import { KeyedQueue } from '../machine/keyed-queue.ts'
import { tryOrUndefined } from '../machine/try-or-undefined.ts'
import type { CliServer } from './cli-server.ts'
import type { CompanionOptions } from './companion-server.ts'
import { acpHarness } from './harness/acp.ts'
import {
  type AcpHarness,
  type AcpMcpServer,
  type Harness,
  type LaunchContext,
  mcpServerEnvironment,
  mcpServerName,
  type ProgramCommand,
} from './harness/harness.ts'
import { harnesses } from './harness/index.ts'
import type { TerminalOptions } from './pty.ts'

type Env = Readonly<Record<string, string | undefined>>

export interface LaunchOptions {
  row: WorkerRow
  harness: Harness
  /** The worker's private directory, made here and removed when the worker ends. */
  directory: string
  /** Returns a command that runs a hook without starting Node; undefined if that is impossible. */
  launchHook?(): ProgramCommand | undefined
  socketPath: string
  /** The daemon's HTTP address, if it serves HTTP. */
  url?(): string | undefined
  token: string
  /** The daemon's environment. */
  env: Env
  setups: HarnessSetups
  /** Whether the program is used over ACP instead of in a terminal. */
  isAcp: boolean
}

export interface PreparedLaunch {
  options: Omit<TerminalOptions, 'cols' | 'rows'>
  cliServer?: CliServer
  /** A server of the CLI, which is started before the program. */
  companion?: CompanionOptions
  acp?: { harness: AcpHarness; mcpServers: AcpMcpServer[]; conversation?: string }
}

/** Timeout of a CLI's own set-up command: its `mcp add` may take long, since it loads much of the CLI. */
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
  // A command that the user gives contains the arguments for ACP already.
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

/** The form of conversation ids over ACP, where each agent makes its own. */
const acpConversationIds = /^[\x21-\x7e]{1,200}$/

/** Returns the form of the conversation ids that the program makes; undefined for a program that takes an id from the relay. */
export function conversationIdPattern(harness: Harness | undefined, control: WorkerControlName): RegExp | undefined {
  return control === 'acp' ? acpConversationIds : harness?.conversationIds
}

/**
 * Returns the conversation to begin or to continue. If the program makes the ids, it is the one that the program named earlier. Otherwise its id is
 * made from the id of the worker that began the conversation. Throws if a stored id does not have the program's form: the id becomes an argument, and
 * anybody may have written a database that was restored.
 */
function conversationOf({ row, harness, isAcp }: LaunchOptions): LaunchContext['conversation'] {
  const { id, asked, args = [], conversation = '' } = row
  const isContinued = asked?.continues !== undefined
  if (!isAcp && !harness.canContinue?.(args)) return undefined
  const form = conversationIdPattern(harness, isAcp ? 'acp' : 'pty')
  if (form) {
    if (!isContinued) return undefined
    if (!form.test(conversation)) throw new Error('the stored id of its conversation is not valid')
    return { id: conversation, isContinued }
  }
  const hex = createHash('sha256')
    .update(`conversation of ${asked?.continues ?? id}`)
    .digest('hex')
  // A UUID of version 8, the version for ids that an application makes by its own rule.
  const uuid = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)]
  return { id: uuid.join('-'), isContinued }
}

/** Returns our MCP server in the form of ACP's `session/new`. The worker's token goes over the program's stdin, and so appears in no argument. */
function mcpServer(
  { mcp }: AcpHarness,
  { server, identity }: LaunchContext,
  { url, token }: LaunchOptions,
): AcpMcpServer {
  const listed = (values: Record<string, string>) => Object.entries(values).map(([name, value]) => ({ name, value }))
  if (mcp === 'stdio')
    return {
      name: mcpServerName,
      ...server,
      args: [...server.args],
      env: listed({ ...identity, ...mcpServerEnvironment }),
    }
  const headers = listed({ Authorization: `Bearer ${token}` })
  return { type: 'http', name: mcpServerName, url: `${url?.()}/mcp`, headers }
}

/** Puts our command first on PATH: a program without our tools answers with `agent-relay send`, which has to be that of this installation. */
function pathWithOurCommand(directory: string, env: Env): { PATH: string } {
  const folder = join(directory, 'bin')
  // The folder exists already if the program is started in a terminal after ACP has failed.
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { mode: 0o700 })
  symlinkSync(fileURLToPath(new URL('../../bin/agent-relay.cjs', import.meta.url)), join(folder, 'agent-relay'))
  return { PATH: [folder, env.PATH ?? ''].join(delimiter) }
}

/** Returns the path of the executable file to run; undefined if there is none. */
export function programFileOf(harness: Harness, command: readonly string[], env: Env, cwd: string): string | undefined {
  const name = command[0] ?? harness.program
  if (name === undefined) return undefined
  if (name.includes('/')) return isExecutableFile(resolve(cwd, name)) ? resolve(cwd, name) : undefined
  return programFolders(env.PATH)
    .map((folder) => join(folder, name))
    .find(isExecutableFile)
}

/** Returns the command by which the daemon asks a CLI about itself, with the environment that the CLI may see; undefined if the CLI is not installed. */
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

/** Returns a command of our MCP package. The daemon's own Node runs it, so that a worker's MCP server has the version of its daemon. */
export function mcpCommand(verb: string): ProgramCommand {
  const serve = createRequire(import.meta.url).resolve('@agent-relay/mcp/serve')
  return { command: process.execPath, args: [join(dirname(dirname(serve)), 'bin', 'agent-relay-mcp.cjs'), verb] }
}

/** Runs a set-up command of the CLI, before the CLI itself is started. */
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

/** The environment variable by which every process that a worker has started is found again. */
export const workerMarker = 'RELAY_WORKER'

/**
 * The variables of the daemon's environment that a worker's program may see: this list with the variables of all CLIs. It contains no workspace key,
 * no variable that makes a program load other code (NODE_OPTIONS, LD_PRELOAD), and no credentials but those of models.
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
  // models that several CLIs can use
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

/**
 * Returns the environment of a worker's program: the allowed variables of the daemon's environment, the terminal's variables, and those made for this
 * worker.
 */
export function workerEnvironment(env: Env, ...added: Env[]): Record<string, string> {
  const terminal = { TERM: 'xterm-256color', COLORTERM: 'truecolor' }
  const all = Object.assign({}, allowedEnvironment(env), terminal, ...added) as Env
  return Object.fromEntries(Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined))
}

/**
 * Runs the set-up commands that a CLI needs only once, since it keeps their result in its own configuration. A command is remembered by its content,
 * and runs again after `forget`.
 */
export class HarnessSetups {
  readonly #directory: string
  /** The last run for each harness: two workers that start together must not make one CLI write its file twice at once. */
  readonly #underWay = new KeyedQueue()

  /** `directory`: the folder that records which set-ups were done. It outlives the workers, and all workspaces of a daemon share it. */
  constructor(directory: string) {
    this.#directory = directory
  }

  /** Runs `work`, unless it was done before with the same `about`, which is everything that the work depends on. */
  runOnce(harness: string, about: unknown, work: () => Promise<void>): Promise<void> {
    const mark = createHash('sha256').update(JSON.stringify(about)).digest('hex')
    return this.#underWay.run(harness, async () => {
      if (tryOrUndefined(() => readFileSync(join(this.#directory, harness), 'utf8')) === mark) return
      await work()
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 })
      writeFileSync(join(this.#directory, harness), mark, { mode: 0o600 })
    })
  }

  /** Forgets that the set-up was done, so that the next start repeats it: the user may have removed its result. */
  forget(harness: string): void {
    rmSync(join(this.#directory, harness), { force: true })
  }
}
