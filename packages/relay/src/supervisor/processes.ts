// The processes of this machine as far as ending a worker needs them: who carries its marker. Linux tells this in /proc; elsewhere the
// marker cannot be read, and a worker is its process group and its descendants.

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

/** A process id is used again; with the time of its start it is one process. */
export interface Process {
  pid: number
  startedAt: string
}

export const isLinux = process.platform === 'linux'

/** Everything of ours that has `NAME=value` in its environment, but not this process. */
export async function carrying(name: string, value: string): Promise<Process[]> {
  const wanted = Buffer.from(`\0${name}=${value}\0`)
  const found: Process[] = []
  const look = async (pid: number) => {
    const startedAt = statOf(pid)?.startedAt
    if (startedAt === undefined || pid === process.pid) return
    // Another user's, or gone.
    const environment = await readFile(`/proc/${pid}/environ`).catch(() => undefined)
    if (environment && Buffer.concat([Buffer.of(0), environment, Buffer.of(0)]).includes(wanted))
      found.push({ pid, startedAt })
  }
  const pids = (await readdir('/proc')).map(Number).filter(Number.isInteger)
  await Promise.all(pids.map(look))
  return found
}

/** What is left of a group whose leader is gone. The number cannot be another's as long as the group has a member, unless it has a leader again. */
export async function leftOfGroup(leader: number): Promise<Process[]> {
  if (statOf(leader)) return []
  const pids = (await readdir('/proc')).map(Number).filter(Number.isInteger)
  return pids.flatMap((pid) => {
    const stat = statOf(pid)
    return stat?.group === leader ? [{ pid, startedAt: stat.startedAt }] : []
  })
}

/** Only if it is still the same process. */
export function signalProcess({ pid, startedAt }: Process, signal: NodeJS.Signals): void {
  if (statOf(pid)?.startedAt === startedAt) signalQuietly(pid, signal)
}

export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  signalQuietly(-pid, signal)
}

/** Elsewhere than on Linux: what descends from a process, by the list of parents. */
export async function descendants(root: number): Promise<number[]> {
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

export function signalQuietly(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended by itself.
  }
}

/** Its group, and its start in ticks since the machine's own; undefined where there is no such process, or only what is left of one. */
function statOf(pid: number): { group: number; startedAt: string } | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // Its name may hold spaces and brackets: fields 3 and on begin after the last one.
    const fields = status.slice(status.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? undefined : { group: Number(fields[2]), startedAt: fields[19] as string }
  } catch {
    return undefined
  }
}
