// Whether a process still runs. The SDK's own `isAlive` also counts a zombie: a process that ended and whose parent has not asked for its end.

import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

const hasProc = existsSync('/proc/self/status')

export function isAlive(pid: number): boolean {
  const state = hasProc ? stateInProc(pid) : stateByPs(pid)
  return state !== undefined && state !== 'Z'
}

function stateInProc(pid: number): string | undefined {
  try {
    return /^State:\s+(\S)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  } catch {
    return undefined
  }
}

function stateByPs(pid: number): string | undefined {
  return spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim()[0]
}
