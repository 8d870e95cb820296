// Finds which program listens on a port, if /proc can tell: for the message that says why ours cannot.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename } from 'node:path'

const listening = '0A'

/** The owner of a port, for example `pid 993, python3`; undefined if it cannot be known: another system, or another user's program. */
export function portOwner(port: number): string | undefined {
  try {
    const sockets = new Set(['tcp', 'tcp6'].flatMap((table) => socketsOn(table, port)))
    if (sockets.size === 0) return undefined
    for (const pid of readdirSync('/proc')) {
      if (/^\d+$/.test(pid) && holdsOne(pid, sockets)) return `pid ${pid}, ${nameOf(pid)}`
    }
  } catch {
    // The message works without the owner's name.
  }
  return undefined
}

function socketsOn(table: string, port: number): string[] {
  const ending = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const rows = readFileSync(`/proc/net/${table}`, 'utf8').split('\n').slice(1)
  return rows.flatMap((row) => {
    const [, local = '', , state, , , , , , inode = ''] = row.trim().split(/\s+/)
    return state === listening && local.endsWith(ending) ? [`socket:[${inode}]`] : []
  })
}

function holdsOne(pid: string, sockets: Set<string>): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => {
      try {
        return sockets.has(readlinkSync(`/proc/${pid}/fd/${fd}`))
      } catch {
        return false
      }
    })
  } catch {
    return false
  }
}

/** The name of a process; a relay would otherwise show as `node`. */
function nameOf(pid: string): string {
  const [, script = ''] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  const name = readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
  // Our process sets this title itself, followed by its arguments: see cli/person.ts.
  const isOurs = /^agent-relay(\.cjs)?$/.test(basename(script)) || name.startsWith('agent-relay')
  return isOurs ? 'agent-relay' : name
}
