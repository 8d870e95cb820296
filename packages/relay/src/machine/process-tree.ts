// The place of a process among the others: what started it, whether it has a terminal, and whether it is the one it says it is. No system call that Node
// has names the process at the other end of a socket. So a client names itself, and proves it by its title: the other end has told it a secret, and no
// process can change the title of another one. What follows from that is decided in broker/sessions/person.ts.

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

export interface ProcessPlace {
  /** Process ids: the process itself, its parent, and so on upward. */
  line: number[]
  hasTerminal: boolean
  /** The process has cut itself off from its parents: its session's leader is not among them. */
  isDetached: boolean
}

interface Known {
  parent: number
  leader: number
  terminal: boolean
}

/** Maximum number of processes in a line: more than any person's nested shells. */
const lineMax = 100

/** The title by which a client proves which process it is. It has to fit into the space of its arguments. */
export function titleOf(ticket: string): string {
  return `relay-${createHash('sha256').update(`title of ${ticket}`).digest('hex').slice(0, 18)}`
}

/** The place of a process; undefined if the process does not have the proper title, or nothing can be read about it. */
export async function placeOfProcess(pid: number, ticket: string): Promise<ProcessPlace | undefined> {
  const read = process.platform === 'linux' ? fromProc() : await fromPs()
  if (read === undefined || (await read.title(pid)) !== titleOf(ticket)) return undefined
  const line: number[] = []
  const own = await read.known(pid)
  if (!own) return undefined
  for (let at = pid; at > 1 && line.length < lineMax && !line.includes(at); ) {
    line.push(at)
    // A process that cannot be read belongs to another user.
    at = (await read.known(at))?.parent ?? 0
  }
  const isDetached = own.leader !== 0 && !line.includes(own.leader)
  return { line, hasTerminal: own.terminal, isDetached }
}

interface ProcessReader {
  title(pid: number): Promise<string | undefined>
  known(pid: number): Promise<Known | undefined>
}

function fromProc(): ProcessReader {
  const read = (pid: number, name: string) => readFile(`/proc/${pid}/${name}`, 'latin1').catch(() => undefined)
  return {
    title: async (pid) => (await read(pid, 'cmdline'))?.split('\0', 1)[0],
    async known(pid) {
      const stat = await read(pid, 'stat')
      // The process name in this line may hold anything; the fields that follow stand behind the last bracket.
      const [, parent, , leader, terminal] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? []
      if (parent === undefined) return undefined
      return { parent: Number(parent), leader: Number(leader), terminal: Number(terminal) !== 0 }
    },
  }
}

/** Reads processes with `ps`, on systems without /proc. The session leader is unknown there, and left out. */
async function fromPs(): Promise<ProcessReader | undefined> {
  if (process.platform === 'win32') return undefined
  const ps = promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,tty=,command='], { maxBuffer: 16 * 1024 * 1024 })
  const { stdout } = await ps.catch(() => ({ stdout: '' }))
  const rows = new Map<number, Known & { title: string }>()
  for (const line of stdout.split('\n')) {
    const [, pid, parent, tty, title = ''] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*?)\s*$/.exec(line) ?? []
    if (pid === undefined) continue
    rows.set(Number(pid), { parent: Number(parent), leader: 0, terminal: !/^\?+$|^-$/.test(tty as string), title })
  }
  return { title: async (pid) => rows.get(pid)?.title, known: async (pid) => rows.get(pid) }
}
