// `agent-relay-mcp serve`: finds the daemon, and carries lines between it and the host on stdin and stdout. It must start about as fast as an empty
// Node.js program, so it loads only `node:` modules and the SDK's discovery, and not `node:crypto`. The MCP session itself runs in the daemon.

import { statSync } from 'node:fs'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import {
  DaemonNotRunningError,
  type Env,
  findProjectConfig,
  rawSetting,
  reachDaemon,
  setting,
  workingDirectory,
} from '@agent-relay/sdk/internal/discover'
import { newWireId } from '@agent-relay/sdk/internal/wire-client'
import type { DaemonRefusal } from './pipe/away.cts'
import { collectInput, helloLine, type PipeIdentity, runOpening } from './pipe/opening.cts'
import type { OpenConnection, Pipe, PipeOptions } from './pipe/pipe.cts'
import { version } from './version.cts'

export interface ServeOptions {
  /** Toolsets, separated by commas. Overrides RELAY_TOOLS. */
  tools?: string
  project?: string
  /** Start a daemon where none runs. */
  start?: boolean
}

/** How long the configuration of a new project may take, in ms: ten times as long as `agent-relay up` needs to write it. */
const settlingMs = 2_000
const settleLookMs = 50

/** Runs until the host closes stdin or ends the process, and then exits the process itself. */
export async function serve({ tools, project, start }: ServeOptions = {}): Promise<void> {
  const said = collectInput(process.stdin)
  // The host's first line that the launcher's shell has read and not answered.
  const heard = rawSetting(process.env, 'RELAY_HEARD')
  const early = () => (heard ? Buffer.concat([Buffer.from(`${heard}\n`), said()]) : said())
  const identity = identityOf(process.env, tools)
  try {
    const baseUrl = project === undefined ? setting(process.env, 'RELAY_BASE_URL') : undefined
    if (baseUrl !== undefined) return serveOverHttp(baseUrl, identity, early)
    if (rawSetting(process.env, 'RELAY_STANDBY')) return standByForDaemon(identity, early, project)
    const { socketPath, project: found, socket } = await (start ? reachOrStart(project) : reachSettled(project))
    const open = connectOverSocket(socketPath)
    const target = { socketPath, project: found }
    if (socket) carryLines(socket, early(), { open, identity, target })
    else open((stream) => carryLines(stream, early(), { open, identity, target }), failStart)
  } catch (error) {
    if (isHosted() && error instanceof DaemonNotRunningError) standByForDaemon(identity, early, project, error)
    else if (isFixedByPerson(error as { code?: unknown })) refuseRequests(error as Error, early)
    else failStart(error as Error)
  }
}

/** Whether a host has started the pipe by the launcher. A person who starts it by hand reads on stderr why nothing is served. */
function isHosted(): boolean {
  return rawSetting(process.env, 'RELAY_STANDBY') !== undefined
}

/** Waits for the first daemon that discovery finds; from then on the host stays in the workspace that served it. */
function standByForDaemon(identity: PipeIdentity, early: () => Buffer, project?: string, error?: Error): void {
  const target = { socketPath: 'unknown', project: 'unknown' }
  const open: OpenConnection = (opened, failed, wasServed) => {
    if (wasServed) return connectOverSocket(target.socketPath)(opened, failed)
    reachSettled(project).then(
      ({ socketPath, project: found, socket }) => {
        Object.assign(target, { socketPath, project: found })
        if (socket) opened(socket)
        else connectOverSocket(socketPath)(opened, failed)
      },
      (error) => failed(error, reasonOf(error)),
    )
  }
  standBy({ open, identity, target }, early(), error)
}

/**
 * Serves the host without a daemon: tells it what to start, and gives it the tools as soon as there is a daemon. The launcher may have answered the
 * host's first requests.
 */
function standBy({ target, ...options }: DaemonConnection, early: Buffer, error?: Error): void {
  // Hosts keep this text in their logs.
  process.stderr.write(awayText(error))
  const begun = rawSetting(process.env, 'RELAY_STANDBY') || undefined
  Object.assign(target, { version: version() })
  startPipe({ ...options, target }, (pipe) => pipe.standBy(early, begun, error && reasonOf(error)))
  leaveWithHost()
}

/** Returns the reason of a refusal, cleaned, since it contains paths that somebody else may have chosen. Undefined if no daemon is running. */
function reasonOf(error: Error & { code?: string }): DaemonRefusal | undefined {
  if (!('syscall' in error)) return { code: error.code ?? 'auth.denied', message: withoutControls(error.message) }
  const url = setting(process.env, 'RELAY_BASE_URL')
  return url === undefined ? undefined : { code: 'daemon.not-running', message: `${nobodyAt(url)} ${restartHint}` }
}

/**
 * Finds the daemon. Outside a project, waits until a new daemon has run for a moment: `agent-relay up` in a new directory starts a daemon, and writes
 * the project's configuration a moment after the workspace `home` answers.
 */
async function reachSettled(project?: string): ReturnType<typeof reachDaemon> {
  const found = await reachDaemon({ project })
  if (found.source !== 'scan' || isSettled(found.socketPath)) return found
  found.socket?.destroy()
  while (!isSettled(found.socketPath) && !isInProject())
    await new Promise((resolve) => setTimeout(resolve, settleLookMs))
  return reachDaemon({ project })
}

function isInProject(): boolean {
  try {
    return findProjectConfig() !== null
  } catch {
    // The configuration may be half written.
    return false
  }
}

/** Whether the daemon has listened for at least `settlingMs`. Also true if nobody listens any more, and if the clock was set back. */
function isSettled(socketPath: string): boolean {
  const { mtimeMs = 0 } = statSync(socketPath, { throwIfNoEntry: false }) ?? {}
  const ageMs = Date.now() - mtimeMs
  return ageMs < 0 || ageMs >= settlingMs
}

/** Finds the daemon, or starts one. Starts none if RELAY_SOCKET names the socket: a new daemon would have another one. */
async function reachOrStart(project: string | undefined): ReturnType<typeof reachDaemon> {
  try {
    return await reachSettled(project)
  } catch (error) {
    const isByPath = project === undefined && setting(process.env, 'RELAY_SOCKET') !== undefined
    if (isByPath || !(error instanceof DaemonNotRunningError)) throw error
    const { startDaemon } = require('./pipe/starting.cjs') as typeof import('./pipe/starting.cts')
    await startDaemon()
    return reachDaemon({ project })
  }
}

/** Whether only a person can fix the error: the named workspace is wrong, while the daemon may run. */
function isFixedByPerson({ code }: { code?: unknown }): boolean {
  return code === 'config.invalid' || code === 'workspace.closed' || code === 'workspace.unknown'
}

/** Removes control characters: a reason names paths, which somebody else may have chosen. */
function withoutControls(reason: string): string {
  const { cleanLineForModel } = require('./pipe/refusing.cjs') as typeof import('./pipe/refusing.cts')
  return cleanLineForModel(reason)
}

/** Answers every request with the error, until the host closes its side: the person at the host can fix the configuration. */
function refuseRequests({ message }: Error, early: () => Buffer): void {
  const { clean, refuseAllRequests } = require('./pipe/refusing.cjs') as typeof import('./pipe/refusing.cts')
  process.exitCode = 1
  process.stdout.on('error', () => process.exit())
  process.stderr.write(`ERROR: ${clean(message)}\n`)
  refuseAllRequests(process.stdin, process.stdout, early(), `${message}\nThen start this session again.`, version())
}

function serveOverHttp(baseUrl: string, identity: PipeIdentity, early: () => Buffer): void {
  const { connectOverHttp } = require('./pipe/upgrade.cjs') as typeof import('./pipe/upgrade.cts')
  const open = connectOverHttp(baseUrl, identity.token ?? identity.key)
  const target = { socketPath: baseUrl, project: 'unknown' }
  const again: OpenConnection = (opened, failed, wasServed) =>
    open(opened, wasServed ? failed : (error) => failed(error, reasonOf(error)))
  open(
    (stream) => carryLines(stream, early(), { open, identity, target }),
    (error) => {
      if (isHosted() && isAway(error)) standBy({ open: again, identity, target }, early(), error)
      else failStart(error)
    },
  )
}

type DaemonConnection = Pick<PipeOptions, 'open' | 'identity' | 'target'>

const leave = () => process.exit(0)

function carryLines(stream: Duplex, early: Buffer, options: DaemonConnection): void {
  runOpening(stream, helloLine(options.identity), early, process, (heard, last) =>
    startPipe(options, (pipe) => pipe.start(stream, heard, last)),
  )
  stream.on('error', () => {})
  leaveWithHost()
}

function startPipe(options: DaemonConnection, start: (pipe: Pipe) => void): void {
  const { stdin: input, stdout: output } = process
  const { Pipe } = require('./pipe/pipe.cjs') as typeof import('./pipe/pipe.cts')
  const say = (text: string) => process.stderr.write(`agent-relay-mcp: ${text}\n`)
  const pipe = new Pipe({ ...options, input, output, say, fail: failStart })
  start(pipe)
  if (input.readableEnded) pipe.end(leave)
  else input.on('end', () => pipe.end(leave))
}

function leaveWithHost(): void {
  process.on('SIGTERM', leave).on('SIGINT', leave)
  // A failed stream means that the host is gone without closing stdin.
  process.stdout.on('error', leave)
  process.stdin.on('error', leave)
}

function connectOverSocket(path: string): OpenConnection {
  return (opened, failed) => {
    const socket = connect(path)
    socket.once('error', failed)
    socket.once('connect', () => {
      socket.off('error', failed)
      opened(socket)
    })
  }
}

function identityOf(env: Env, tools: string | undefined): PipeIdentity {
  return {
    pipe: newWireId(),
    host: process.ppid,
    cwd: workingDirectory(),
    name: setting(env, 'RELAY_AGENT_NAME'),
    type: setting(env, 'RELAY_AGENT_TYPE'),
    token: setting(env, 'RELAY_AGENT_TOKEN'),
    key: setting(env, 'RELAY_WORKSPACE_KEY') ?? setting(env, 'RELAY_API_KEY'),
    strict: /^(1|true|yes)$/i.test(setting(env, 'RELAY_STRICT_AGENT_NAME') ?? '') || undefined,
    tools: tools ?? setting(env, 'RELAY_TOOLS'),
    push: setting(env, 'RELAY_PUSH'),
  }
}

/** Says how to start a daemon, and starts none: the user should know that one runs. */
function failStart(error: Error): void {
  process.stderr.write(isAway(error) ? awayText(error) : `ERROR: ${withoutControls(error.message)}\n`, () =>
    process.exit(1),
  )
}

function isAway(error: Error): boolean {
  return error instanceof DaemonNotRunningError || 'syscall' in error
}

function nobodyAt(url: string): string {
  return `No relay answers at ${withoutControls(url)}.`
}

const restartHint = 'Start it again where it ran: agent-relay lift (a lift), agent-relay daemon start (any other).'

function awayText(error?: Error): string {
  const url = setting(process.env, 'RELAY_BASE_URL')
  if (url !== undefined)
    return `ERROR: ${nobodyAt(url)}\n\nTo start it again, where it ran:\n  agent-relay lift            (a lift's)\n  agent-relay daemon start    (any other)\n`
  const { message } = new DaemonNotRunningError()
  // An error with another text names a socket and says how to fix that, so its text replaces the general one.
  if (error instanceof DaemonNotRunningError && error.message !== message)
    return `ERROR: ${withoutControls(error.message)}\n`
  return `ERROR: ${message}

To start the daemon:
  agent-relay daemon start

Or for cloud workspaces, ensure the daemon is running.
`
}
