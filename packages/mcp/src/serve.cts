// `agent-relay-mcp serve`: finds the daemon, and is the pipe between it and the host on stdin and stdout. It must start in the time of a
// bare Node: nothing is loaded but `node:` modules and the SDK's discovery, and not `node:crypto`. The MCP session lives in the daemon.

import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { DaemonNotRunningError, type Env, reachDaemon, setting } from '@agent-relay/sdk/discover'
import { helloLine, type Identity, newPipeId } from './pipe/hello.cts'
import { listen, opening } from './pipe/opening.cts'
import type { Open, PipeOptions } from './pipe/pipe.cts'

export interface ServeOptions {
  /** Toolsets, separated by commas: goes before RELAY_TOOLS. */
  tools?: string
  project?: string
}

/** Runs until the host closes stdin or ends the process; the process is its own then, also its exit. */
export async function serve({ tools, project }: ServeOptions = {}): Promise<void> {
  const early = listen(process.stdin)
  try {
    const identity = identityOf(process.env, tools)
    const baseUrl = project === undefined ? setting(process.env, 'RELAY_BASE_URL') : undefined
    if (baseUrl !== undefined) return serveOverHttp(baseUrl, identity, early)
    const { socketPath, project: found, socket } = await reachDaemon({ project })
    const open = overSocket(socketPath)
    const place = { socketPath, project: found }
    if (socket) carry(socket, early(), { open, identity, place })
    else open((stream) => carry(stream, early(), { open, identity, place }), fail)
  } catch (error) {
    if ((error as { code?: unknown }).code === 'config.invalid') refuse(error as Error, early)
    else fail(error as Error)
  }
}

/** Whoever is here can mend the file, if only they are told. Ends with the host's input. */
function refuse({ message }: Error, early: () => Buffer): void {
  const { refuseAll } = require('./pipe/refusing.cjs') as typeof import('./pipe/refusing.cts')
  process.exitCode = 1
  process.stdout.on('error', () => process.exit())
  process.stderr.write(`ERROR: ${message}\n`)
  refuseAll(process.stdin, process.stdout, early(), `${message} Then start this session anew.`)
}

function serveOverHttp(baseUrl: string, identity: Identity, early: () => Buffer): void {
  const { overHttp } = require('./pipe/upgrade.cjs') as typeof import('./pipe/upgrade.cts')
  const open = overHttp(baseUrl, identity.token ?? identity.key)
  const place = { socketPath: baseUrl, project: 'unknown' }
  open((stream) => carry(stream, early(), { open, identity, place }), fail)
}

function carry(stream: Duplex, early: Buffer, options: Pick<PipeOptions, 'open' | 'identity' | 'place'>): void {
  const leave = () => process.exit(0)
  opening(stream, helloLine(options.identity), early, process, (heard, last) => {
    const { stdin: input, stdout: output } = process
    const { Pipe } = require('./pipe/pipe.cjs') as typeof import('./pipe/pipe.cts')
    const say = (text: string) => process.stderr.write(`agent-relay-mcp: ${text}\n`)
    const pipe = new Pipe({ ...options, input, output, say, fail })
    pipe.start(stream, heard, last)
    if (input.readableEnded) pipe.end(leave)
    else input.on('end', () => pipe.end(leave))
  })
  stream.on('error', () => {})
  process.on('SIGTERM', leave).on('SIGINT', leave)
  // A host that is gone without a word.
  process.stdout.on('error', leave)
  process.stdin.on('error', leave)
}

function overSocket(path: string): Open {
  return (opened, failed) => {
    const socket = connect(path)
    socket.once('error', failed)
    socket.once('connect', () => {
      socket.off('error', failed)
      opened(socket)
    })
  }
}

function identityOf(env: Env, tools: string | undefined): Identity {
  return {
    pipe: newPipeId(),
    host: process.ppid,
    name: setting(env, 'RELAY_AGENT_NAME'),
    type: setting(env, 'RELAY_AGENT_TYPE'),
    token: setting(env, 'RELAY_AGENT_TOKEN'),
    key: setting(env, 'RELAY_WORKSPACE_KEY') ?? setting(env, 'RELAY_API_KEY'),
    strict: /^(1|true|yes)$/i.test(setting(env, 'RELAY_STRICT_AGENT_NAME') ?? '') || undefined,
    tools: tools ?? setting(env, 'RELAY_TOOLS'),
    push: setting(env, 'RELAY_PUSH'),
  }
}

/** It never starts a daemon by itself: the user should know that one runs. */
function fail(error: Error): void {
  const isAway = error instanceof DaemonNotRunningError || 'syscall' in error
  const text = isAway
    ? `${new DaemonNotRunningError().message}

To start the daemon:
  agent-relay daemon start

Or for cloud workspaces, ensure the daemon is running.`
    : error.message
  process.stderr.write(`ERROR: ${text}\n`, () => process.exit(1))
}
