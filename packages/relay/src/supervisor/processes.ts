// Finds and signals the processes of a worker by its marker, a variable in their environment. Linux shows the marker in /proc. Elsewhere it cannot be
// read, and a worker's processes are its process group and its descendants.

import { execFile, execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { tryOrUndefined } from '../machine/try-or-undefined.ts'

/** A process's id with its start time: ids are reused, but both together identify one process. */
export interface ProcessIdentity {
  pid: number
  startedAt: string
}

export const isLinux = process.platform === 'linux'

/** All processes of this user that have `NAME=value` in their environment, except this one. */
export async function processesWithVariable(name: string, value: string): Promise<ProcessIdentity[]> {
  const wanted = Buffer.from(`\0${name}=${value}\0`)
  const found: ProcessIdentity[] = []
  const look = async (pid: number) => {
    const startedAt = statOf(pid)?.startedAt
    if (startedAt === undefined || pid === process.pid) return
    // The environment cannot be read: the process belongs to another user, or has ended.
    const environment = await readFile(`/proc/${pid}/environ`).catch(() => undefined)
    if (environment && Buffer.concat([Buffer.of(0), environment, Buffer.of(0)]).includes(wanted))
      found.push({ pid, startedAt })
  }
  const pids = (await readdir('/proc')).map(Number).filter(Number.isInteger)
  await Promise.all(pids.map(look))
  return found
}

/** Whether a process of this user has the variable `NAME` in its environment; true if that cannot be read. */
export function mayHaveVariable(pid: number, name: string): boolean {
  return tryOrUndefined(() => `\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}`.includes(`\0${name}=`)) ?? true
}

/** The command line of a process; empty where it cannot be read. */
export function commandLineOf(pid: number): string[] {
  return tryOrUndefined(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')) ?? []
}

/** Returns the members of a process group whose leader has ended. The group's number is not reused while the group has a member. */
export async function orphanedGroupMembers(leader: number): Promise<ProcessIdentity[]> {
  if (statOf(leader)) return []
  const pids = (await readdir('/proc')).map(Number).filter(Number.isInteger)
  return pids.flatMap((pid) => {
    const stat = statOf(pid)
    return stat?.group === leader ? [{ pid, startedAt: stat.startedAt }] : []
  })
}

/** Signals a process, unless another process has its id by now. */
export function signalProcess({ pid, startedAt }: ProcessIdentity, signal: NodeJS.Signals): void {
  if (statOf(pid)?.startedAt === startedAt) signalIfAlive(pid, signal)
}

export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  signalIfAlive(-pid, signal)
}

/** Finds all descendants of a process with `ps`, for systems without /proc. */
export async function descendantsOf(root: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-axo', 'pid=,ppid='])
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
  const found = new Set([root])
  for (let size = 0; size < found.size; ) {
    size = found.size
    for (const [pid, parent] of rows) if (found.has(parent as number)) found.add(pid as number)
  }
  found.delete(root)
  return [...found]
}

/** Sends a signal, but never to 0, 1 or -1, which mean a whole group, the init process and all processes: no program of a worker has such a number. */
export function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  if (!(Math.abs(pid) > 1)) return
  try {
    process.kill(pid, signal)
  } catch {
    // The process has ended already.
  }
}

/** Returns a process's group, and its start time in ticks since the machine started; undefined if there is no such process, or only a zombie. */
function statOf(pid: number): { group: number; startedAt: string } | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The program's name may contain spaces and brackets, so field 3 and the following ones begin after the last bracket.
    const fields = status.slice(status.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? undefined : { group: Number(fields[2]), startedAt: fields[19] as string }
  } catch {
    return undefined
  }
}

/**
 * Returns the start time of a process, which together with the process's id identifies it as long as the machine runs. Undefined if there is no such
 * process.
 */
export function startTimeOf(pid: number): string | undefined {
  if (isLinux) return statOf(pid)?.startedAt
  try {
    if (process.platform === 'win32') return process.kill(pid, 0) ? '' : undefined
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() || undefined
  } catch {
    return undefined
  }
}

/** The arguments of a process; undefined where they cannot be read. */
export async function argumentsOf(pid: number): Promise<string[] | undefined> {
  if (!isLinux) return undefined
  const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined)
  return line?.split('\0')
}
