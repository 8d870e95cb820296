// A CLI's own server that is started beside the worker's terminal program and ends with the worker. Like everything that the worker starts, the
// server has the worker's marker in its environment; it leads a process group of its own.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { signalGroup } from './processes.ts'
import type { TerminalOptions } from './pty.ts'

export interface CompanionOptions extends Omit<TerminalOptions, 'cols' | 'rows'> {
  /** The socket on which the server listens. */
  socket: string
  /** The arguments with which the terminal program connects to the server. */
  clientArgs: readonly string[]
}

const lookMs = 20

export interface CompanionServer {
  /** Signals the server's process group. Does nothing once the server has ended, since another program may have its process number by then. */
  signal(signal: NodeJS.Signals): void
}

/** Starts the server. Resolves to undefined if the server does not listen in time, since the terminal program works without it. */
export async function startCompanion(options: CompanionOptions): Promise<CompanionServer | undefined> {
  const { file, args, cwd, env, socket } = options
  const server = spawn(file, args, { cwd, env, stdio: 'ignore', detached: true })
  server.on('error', () => {})
  const companion: CompanionServer = {
    signal: (signal) => {
      if (server.pid !== undefined && isAlive(server)) signalGroup(server.pid, signal)
    },
  }
  const deadline = performance.now() + waitLimitMs('cliDaemon')
  while (isAlive(server) && performance.now() < deadline) {
    if (await isListening(socket)) return companion
    await sleep(lookMs)
  }
  companion.signal('SIGKILL')
  return undefined
}

function isAlive({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid !== undefined && exitCode === null && signalCode === null
}

async function isListening(path: string): Promise<boolean> {
  const socket = connect(path)
  const connected = once(socket, 'connect').then(
    () => true,
    () => false,
  )
  return connected.finally(() => socket.destroy())
}
