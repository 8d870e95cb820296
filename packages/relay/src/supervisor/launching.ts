// Prepares the start of a worker: the program's file, its arguments, its environment, and the files it needs. Runs only the commands that a CLI
// needs beforehand; the program itself is started in worker.ts.

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { accessSync, constants, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { WorkerRow } from '../core/view.ts'
import type { CliServer } from './cli-server.ts'
import type { CompanionOptions } from './companion-server.ts'
import { acp } from './harness/acp.ts'
import {
  type AcpHarness,
  type Harness,
  type LaunchContext,
  type McpServer,
  type Program,
  serverEnvironment,
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
  launchHook?(): Program | undefined
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

export interface Launched {
  options: Omit<TerminalOptions, 'cols' | 'rows'>
  cliServer?: CliServer
  /** A server to be started before the program. */
  companion?: CompanionOptions
  acp?: { harness: AcpHarness; mcpServers: McpServer[] }
}

/** Time limit of the CLI's own set-up command: its `mcp add` may take long, since it loads much of the CLI. */
const beforeMs = 60_000

export async function prepare(launching: LaunchOptions): Promise<Launched> {
  const { row, harness, directory, launchHook, socketPath, token, env, setups, isAcp } = launching
  const { id, name, cwd, command = [], model, args = [], isInjected } = row
  const file = programOf(harness, command, env, cwd)
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
    ...{ directory, server: mcpProgram('serve'), hook: launchHook?.() ?? mcpProgram('hook'), identity },
    ...{ model, args, cwd, env: allowed, port, isInjected },
  }
  const speaks = isAcp ? (harness.acp ?? acp.acp) : undefined
  // A command that the user gives has the arguments for ACP already.
  const launch = speaks ? speaks.launch(context) : harness.launch(context)
  if (speaks && command.length > 0) launch.args = [...args]
  for (const { path, text } of launch.files ?? []) writeFileSync(path, text, { mode: 0o600, flag: 'wx' })
  const environment = workerEnvironment(env, identity, isInjected ? {} : withCommand(directory, env), launch.env)
  for (const before of launch.before ?? [])
    await setups.once(harness.name, [file, before.args, env.HOME], () => runBefore(file, before.args, cwd, environment))
  const options = { file, args: [...command.slice(1), ...launch.args], cwd, env: environment }
  if (!speaks) {
    const companion = launch.companion && { ...options, ...launch.companion }
    return { options, cliServer: harness.cliServer?.(context), companion: command.length > 0 ? undefined : companion }
  }
  return { options, acp: { harness: speaks, mcpServers: isInjected ? [mcpServer(speaks, context, launching)] : [] } }
}

/** Our MCP server in the form of ACP's `session/new`: over a pipe, so that its token stands in no argument. */
function mcpServer({ mcp }: AcpHarness, { server, identity }: LaunchContext, { url, token }: LaunchOptions): McpServer {
  const listed = (values: Record<string, string>) => Object.entries(values).map(([name, value]) => ({ name, value }))
  if (mcp === 'stdio')
    return { name: serverName, ...server, args: [...server.args], env: listed({ ...identity, ...serverEnvironment }) }
  const headers = listed({ Authorization: `Bearer ${token}` })
  return { type: 'http', name: serverName, url: `${url?.()}/mcp`, headers }
}

/** Puts our command on PATH: a program without our tools answers with `agent-relay send` of this installation, whatever else is on PATH. */
function withCommand(directory: string, env: Env): { PATH: string } {
  const folder = join(directory, 'bin')
  // The folder is there already where a program that speaks no ACP is started in a terminal instead.
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { mode: 0o700 })
  symlinkSync(fileURLToPath(new URL('../../bin/agent-relay.cjs', import.meta.url)), join(folder, 'agent-relay'))
  return { PATH: [folder, env.PATH ?? ''].join(delimiter) }
}

/** The file that would be run; undefined where there is none. */
export function programOf(harness: Harness, command: readonly string[], env: Env, cwd: string): string | undefined {
  const name = command[0] ?? harness.program
  if (name === undefined) return undefined
  if (name.includes('/')) return isProgram(resolve(cwd, name)) ? resolve(cwd, name) : undefined
  const folders = (env.PATH ?? '').split(delimiter).filter(isAbsolute)
  return folders.map((folder) => join(folder, name)).find(isProgram)
}

/** A CLI to be asked something about itself, with the environment it may see. Undefined where it is not installed. */
export function commandOf(harness: Harness, env: Env): { file: string; env: Record<string, string> } | undefined {
  const file = programOf(harness, [], env, '/')
  return file === undefined ? undefined : { file, env: allowedEnvironment(env) }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/** The daemon's own Node and package, so that a worker's server has the version of its daemon. */
export function mcpProgram(verb: string): Program {
  const serve = createRequire(import.meta.url).resolve('@agent-relay/mcp/serve')
  return { command: process.execPath, args: [join(dirname(dirname(serve)), 'bin', 'agent-relay-mcp.cjs'), verb] }
}

/** Runs a set-up command of the CLI itself before its start. */
export function runBefore(file: string, args: string[], cwd: string, env: Record<string, string>): Promise<void> {
  return new Promise((done, fail) => {
    execFile(file, args, { cwd, env, timeout: beforeMs }, (error, _stdout, stderr) =>
      error
        ? fail(new Error(`${file} ${args.slice(0, 2).join(' ')} failed: ${stderr.trim() || error.message}`))
        : done(),
    )
  })
}

function freePort(): Promise<number> {
  return new Promise((done, fail) => {
    const server = createServer()
    server.once('error', fail)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => done(port))
    })
  })
}

/** The marker by which everything that a worker has started is found again. */
export const workerMarker = 'RELAY_WORKER'

/**
 * The variables of the daemon's environment that a worker's program may see: the names on this list, with those of all CLIs, and nothing else. No workspace key, nothing
 * that makes a program load other code (NODE_OPTIONS, LD_PRELOAD), no credentials but those of models.
 */
const allowed = [
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

const allowedNames = new Set(allowed)
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
  readonly #underWay = new Map<string, Promise<void>>()

  /** `directory` outlives the workers. All workspaces of a daemon share one. */
  constructor(directory: string) {
    this.#directory = directory
  }

  /** `about` is everything that the work depends on: with another `about` it is done again. */
  async once(harness: string, about: unknown, work: () => Promise<void>): Promise<void> {
    const mark = createHash('sha256').update(JSON.stringify(about)).digest('hex')
    const before = this.#underWay.get(harness)?.catch(() => {}) ?? Promise.resolve()
    const mine = before.then(async () => {
      if (this.#read(harness) === mark) return
      await work()
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 })
      writeFileSync(join(this.#directory, harness), mark, { mode: 0o600 })
    })
    this.#underWay.set(harness, mine)
    return mine
  }

  /** Forgets the run, so that it is done again next time: the owner may have removed its result. */
  forget(harness: string): void {
    rmSync(join(this.#directory, harness), { force: true })
  }

  #read(harness: string): string | undefined {
    try {
      return readFileSync(join(this.#directory, harness), 'utf8')
    } catch {
      return undefined
    }
  }
}
