// From a wish to what is run: the program's file, its arguments, its environment, and the files it needs. Nothing is started here but what a
// CLI needs done beforehand.

import { execFile } from 'node:child_process'
import { accessSync, constants, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { WorkerRow } from '../core/view.ts'
import { allowedEnvironment, workerEnvironment, workerMarker } from './environment.ts'
import type { Door, Harness, LaunchContext } from './harness/harness.ts'
import type { Once } from './once.ts'
import type { TerminalOptions } from './terminal.ts'

type Env = Readonly<Record<string, string | undefined>>

export interface LaunchOptions {
  row: WorkerRow
  harness: Harness
  /** Private to this worker; made here, removed by whoever ends it. */
  directory: string
  socketPath: string
  token: string
  /** The daemon's own. */
  env: Env
  once: Once
}

export interface Launched {
  options: Omit<TerminalOptions, 'cols' | 'rows'>
  door?: Door
}

/** A CLI's own `mcp add` may load half of it first. */
const beforeMs = 60_000

export async function prepare(launching: LaunchOptions): Promise<Launched> {
  const { row, harness, directory, socketPath, token, env, once } = launching
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
  const port = harness.door ? await freePort() : undefined
  const allowed = allowedEnvironment(env)
  const context: LaunchContext = {
    ...{ directory, server: mcpProgram('serve'), hook: mcpProgram('hook'), identity },
    ...{ model, args, cwd, env: allowed, port, isInjected },
  }
  const launch = harness.launch(context)
  for (const { path, text } of launch.files ?? []) writeFileSync(path, text, { mode: 0o600, flag: 'wx' })
  const environment = workerEnvironment(env, identity, isInjected ? {} : withCommand(directory, env), launch.env)
  for (const before of launch.before ?? [])
    await once.do([file, before.args, env.HOME], () => runBefore(file, before.args, cwd, environment))
  return {
    options: { file, args: [...command.slice(1), ...launch.args], cwd, env: environment },
    door: harness.door?.(context),
  }
}

/** Who has no tools of ours answers with `agent-relay send`: this very one, whatever is installed. */
function withCommand(directory: string, env: Env): { PATH: string } {
  const folder = join(directory, 'bin')
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

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/** By this very Node and this very package, so that a worker's server is never another version than its daemon. */
export function mcpProgram(verb: string): { command: string; args: string[] } {
  const serve = createRequire(import.meta.url).resolve('@agent-relay/mcp/serve')
  return { command: process.execPath, args: [join(dirname(dirname(serve)), 'bin', 'agent-relay-mcp.cjs'), verb] }
}

/** What a CLI needs done before its start, by the CLI itself. */
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
