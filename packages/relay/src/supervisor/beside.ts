// A server of a CLI's own that runs beside the worker's terminal program and ends with it. It carries the worker's marker, like everything that the
// worker starts, and is the leader of a process group of its own.

import { type ChildProcess, spawn } from 'node:child_process'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { signalGroup } from './processes.ts'
import type { TerminalOptions } from './pty.ts'

export interface BesideOptions extends Omit<TerminalOptions, 'cols' | 'rows'> {
  /** Where it listens. */
  socket: string
  /** The arguments of the terminal program where this server is there. */
  clientArgs: readonly string[]
}

const lookMs = 20

export interface Beside {
  /** Signals its process group; nothing once the server has ended, since its number may then be another program's. */
  signal(signal: NodeJS.Signals): void
}

/** Undefined where the server does not listen: the program can do without it. */
export async function startBeside({ file, args, cwd, env, socket }: BesideOptions): Promise<Beside | undefined> {
  const server = spawn(file, args, { cwd, env, stdio: 'ignore', detached: true })
  server.on('error', () => {})
  const beside: Beside = {
    signal: (signal) => {
      if (server.pid !== undefined && isAlive(server)) signalGroup(server.pid, signal)
    },
  }
  const deadline = performance.now() + waitLimitMs('cliDaemon')
  while (isAlive(server) && performance.now() < deadline) {
    if (await answers(socket)) return beside
    await sleep(lookMs)
  }
  beside.signal('SIGKILL')
  return undefined
}

function isAlive({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid !== undefined && exitCode === null && signalCode === null
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    const end = (is: boolean) => {
      socket.destroy()
      resolve(is)
    }
    socket.once('connect', () => end(true)).once('error', () => end(false))
  })
}
