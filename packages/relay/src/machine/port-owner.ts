// Finds which program listens on a port, if /proc can tell, for the message that says why the daemon cannot use the port.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename } from 'node:path'
import { tryOrUndefined } from './try-or-undefined.ts'

const listening = '0A'

/**
 * Returns the program that listens on a port, for example `pid 993, python3`; undefined if that cannot be known, as on a system without /proc or for another
 * user's program.
 */
export function portOwner(port: number): string | undefined {
  try {
    const sockets = new Set(['tcp', 'tcp6'].flatMap((table) => socketsOn(table, port)))
    if (sockets.size === 0) return undefined
    for (const pid of readdirSync('/proc')) {
      if (/^\d+$/.test(pid) && holdsOne(pid, sockets)) return `pid ${pid}, ${nameOf(pid)}`
    }
  } catch {
    // If the owner of the port cannot be found out, the message does not name it.
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
      return tryOrUndefined(() => sockets.has(readlinkSync(`/proc/${pid}/fd/${fd}`))) ?? false
    })
  } catch {
    return false
  }
}

/** Returns the name of a process; `agent-relay` for one of ours, which would otherwise show as `node`. */
function nameOf(pid: string): string {
  const [, script = ''] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  const name = readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
  // The CLI of Agent Relay sets its own process title, which begins with `agent-relay`: see cli/person.ts.
  const isOurs = /^agent-relay(\.cjs)?$/.test(basename(script)) || name.startsWith('agent-relay')
  return isOurs ? 'agent-relay' : name
}
