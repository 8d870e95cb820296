// Reads a daemon's system calls from strace's output: writes and syncs of the database's log file, and what the daemon sent over sockets.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Returns why strace cannot trace on this machine, for the message of a skipped test; undefined if it can. */
export function whyNoStrace(): string | undefined {
  const tried = spawnSync('strace', ['-f', '-e', 'trace=fdatasync', process.execPath, '-e', '0'], { encoding: 'utf8' })
  if (tried.error) return `strace is not installed (${tried.error.message})`
  return tried.status === 0 ? undefined : `strace cannot trace here: ${tried.stderr.trim().split('\n').at(-1)}`
}

/**
 * Returns the command line of strace. Strings are printed up to 70,000 characters, so that a command's id can be found in the pages that were written to the
 * log.
 */
export function straceArgs(output: string, ...more: string[]): string[] {
  const calls = 'trace=pwrite64,pwritev,write,writev,sendto,sendmsg,fsync,fdatasync'
  return ['strace', '-f', '-y', '-s', '70000', '-e', calls, ...more, '-o', output]
}

export interface SystemCall {
  /** Line numbers in the trace, which order the beginnings and ends of all calls. */
  began: number
  ended: number
  name: string
  /** The path or socket behind the file descriptor in the first argument. */
  file: string
  text: string
  result: string
}

const begun = /^(\d+)\s+(\w+)\((?:(\d+)<([^>]*)>)?/
const resumed = /^(\d+)\s+<\.\.\. (\w+) resumed>/

/** Reads the system calls of a trace, in the order in which they ended; a call that never ended is left out. */
export function readTrace(path: string): SystemCall[] {
  const calls: SystemCall[] = []
  const unfinished = new Map<string, SystemCall>()
  for (const [at, line] of readFileSync(path, 'latin1').split('\n').entries()) {
    const continued = resumed.exec(line)
    const call = continued ? unfinished.get(continued[1] as string) : parseCall(line, at)
    if (!call) continue
    if (continued) call.text += line
    const thread = line.slice(0, line.indexOf(' '))
    if (line.endsWith('<unfinished ...>')) {
      unfinished.set(thread, call)
      continue
    }
    unfinished.delete(thread)
    call.ended = at
    call.result = line.slice(line.lastIndexOf(' = ') + 3)
    calls.push(call)
  }
  return calls
}

function parseCall(line: string, at: number): SystemCall | undefined {
  const [, , name, , file] = begun.exec(line) ?? []
  return name === undefined ? undefined : { began: at, ended: at, name, file: file ?? '', text: line, result: '' }
}

export const isSync = ({ name }: SystemCall): boolean => name === 'fsync' || name === 'fdatasync'
export const isOnDatabaseLog = ({ file }: SystemCall): boolean => file.endsWith('relay.db-wal')
export const isToSocket = ({ file }: SystemCall): boolean => /^(socket|UNIX|unix)/i.test(file)

/** Finds the ids of the commands that this system call acknowledged to a client. */
export function acknowledgedIds({ text }: SystemCall): string[] {
  return [...text.matchAll(/\\"type\\":\\"ACK\\",\\"id\\":\\"([\w-]+)\\"/g)].map((match) => match[1] as string)
}
