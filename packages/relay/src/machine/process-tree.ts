// Finds out which process a client on a socket is, what started it, and whether it has a terminal. No system call that Node has names the process at the other
// end of a socket. So the client states its process id and proves it: the daemon tells it a secret over the socket, the client sets a process title made from
// the secret, and no process can change another's title. broker/sessions/person.ts decides what follows.

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

export interface ProcessPlace {
  /** Process ids: the process itself, its parent, and so on upward. */
  ancestry: number[]
  hasTerminal: boolean
  /** Whether the process has cut itself off from its parents: the leader of its Unix session is not among them. */
  isDetached: boolean
}

interface KnownProcess {
  parent: number
  leader: number
  terminal: boolean
}

/** Maximum number of processes from a process up to its furthest known ancestor: more than any person's nested shells. */
const ancestryMax = 100

/** Returns the process title by which a client proves which process it is. The title has to fit into the space of the process's arguments. */
export function proofTitle(ticket: string): string {
  return `relay-${createHash('sha256').update(`title of ${ticket}`).digest('hex').slice(0, 18)}`
}

/** Returns the ancestors and the terminal of a process; undefined if the process does not have the expected title, or nothing can be read about it. */
export async function placeOfProcess(pid: number, ticket: string): Promise<ProcessPlace | undefined> {
  const read = process.platform === 'linux' ? fromProc() : await fromPs()
  if (read === undefined || (await read.title(pid)) !== proofTitle(ticket)) return undefined
  const line: number[] = []
  const own = await read.known(pid)
  if (!own) return undefined
  for (let at = pid; at > 1 && line.length < ancestryMax && !line.includes(at); ) {
    line.push(at)
    // A process that cannot be read belongs to another user; the chain of ancestors ends there.
    at = (await read.known(at))?.parent ?? 0
  }
  const isDetached = own.leader !== 0 && !line.includes(own.leader)
  return { ancestry: line, hasTerminal: own.terminal, isDetached }
}

interface ProcessReader {
  title(pid: number): Promise<string | undefined>
  known(pid: number): Promise<KnownProcess | undefined>
}

function fromProc(): ProcessReader {
  const read = (pid: number, name: string) => readFile(`/proc/${pid}/${name}`, 'latin1').catch(() => undefined)
  return {
    title: async (pid) => (await read(pid, 'cmdline'))?.split('\0', 1)[0],
    async known(pid) {
      const stat = await read(pid, 'stat')
      // The process name in /proc/PID/stat may contain anything; the fields behind it follow the last bracket.
      const [, parent, , leader, terminal] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? []
      if (parent === undefined) return undefined
      return { parent: Number(parent), leader: Number(leader), terminal: Number(terminal) !== 0 }
    },
  }
}

/** Reads processes with `ps`, on systems without /proc. `ps` does not tell the session leader, so that is left out. */
async function fromPs(): Promise<ProcessReader | undefined> {
  if (process.platform === 'win32') return undefined
  const ps = promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,tty=,command='], { maxBuffer: 16 * 1024 * 1024 })
  const { stdout } = await ps.catch(() => ({ stdout: '' }))
  const rows = new Map<number, KnownProcess & { title: string }>()
  for (const line of stdout.split('\n')) {
    const [, pid, parent, tty, title = ''] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*?)\s*$/.exec(line) ?? []
    if (pid === undefined) continue
    rows.set(Number(pid), { parent: Number(parent), leader: 0, terminal: !/^\?+$|^-$/.test(tty as string), title })
  }
  return { title: async (pid) => rows.get(pid)?.title, known: async (pid) => rows.get(pid) }
}
