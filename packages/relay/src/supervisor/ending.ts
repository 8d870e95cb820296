// How a worker ends: politely by its own keys, then by signals to its group, then everything that still carries its marker. Never a process
// that does not.

import { workerMarker } from './environment.ts'
import { carrying, descendants, isLinux, leftOfGroup, signalGroup, signalProcess, signalQuietly } from './processes.ts'

export interface Ending {
  id: string
  pid: number
  exitKeys: readonly string[]
  press(key: string): Promise<void>
  /** Resolves true when its program has exited, false after so many milliseconds. */
  exited(ms: number): Promise<boolean>
}

const keyGapMs = 150
/** For its own goodbye, and then again for what it does on SIGTERM. */
const politeMs = 2_000
/** What it left behind gets a moment after SIGTERM: a shell that ends its own children, a server that closes a file. */
const sweepGraceMs = 200
/** A process that the kernel does not let go in this time is not waited for. */
const sweepMs = 10_000

/** Resolves when nothing of it is left. */
export async function endProgram({ id, pid, exitKeys, press, exited }: Ending): Promise<void> {
  // A stopped one hears nothing.
  signalGroup(pid, 'SIGCONT')
  const below = isLinux ? [] : await descendants(pid)
  if (!(await endLeader(exitKeys, press, exited, pid))) {
    // Its group cannot be another's: the number is not free while it has a member.
    signalGroup(pid, 'SIGKILL')
    await exited(politeMs)
  }
  for (const each of below) signalQuietly(each, 'SIGKILL')
  await sweep(id, pid)
}

async function endLeader(
  exitKeys: readonly string[],
  press: Ending['press'],
  exited: Ending['exited'],
  pid: number,
): Promise<boolean> {
  for (const key of exitKeys) {
    // A program that does not read must not keep its own end waiting.
    void press(key)
    if (await exited(keyGapMs)) return true
  }
  if (await exited(politeMs)) return true
  signalGroup(pid, 'SIGTERM')
  return exited(politeMs)
}

/**
 * Whatever carries the worker's marker, and what is left of the group that its program led, until there is none: something may fork while it
 * is looked for. Resolves to how many there were.
 */
export async function sweep(id: string, leader?: number): Promise<number> {
  if (!isLinux) return 0
  const swept = new Set<string>()
  const deadline = performance.now() + sweepMs
  for (let signal: NodeJS.Signals = 'SIGTERM'; performance.now() < deadline; signal = 'SIGKILL') {
    const group = leader === undefined ? [] : await leftOfGroup(leader)
    const found = [...(await carrying(workerMarker, id)), ...group]
    if (found.length === 0) break
    for (const each of found) {
      swept.add(`${each.pid} ${each.startedAt}`)
      signalProcess(each, signal)
      // A stopped one hears nothing but SIGKILL.
      if (signal !== 'SIGKILL') signalProcess(each, 'SIGCONT')
    }
    await new Promise((resolve) => setTimeout(resolve, signal === 'SIGTERM' ? sweepGraceMs : 10))
  }
  return swept.size
}
