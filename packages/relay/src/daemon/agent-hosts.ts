// Remembers each program in which an agent was connected to this daemon or the one before, until the program's process has ended. A program still counts as an
// agent after it has ended its own MCP server, or the daemon: broker/sessions/person.ts uses this to tell agents from persons.

import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { AgentProcess } from '../broker/sessions/person.ts'
import { hostedSessions } from '../broker/sessions/session.ts'
import type { Workspace } from '../broker/workspace.ts'
import { isLinux, startTimeOf } from '../supervisor/processes.ts'

interface AgentHost extends AgentProcess {
  pid: number
  /** The start time of the process. With the process id it identifies the process, since the system uses an id again. */
  startedAt: string
}

export class AgentHosts {
  readonly #path: string | undefined
  readonly #known: Map<number, AgentHost>

  /** `path`: the file that stores the programs. Without it, they are remembered only until the daemon ends. */
  constructor(path: string | undefined) {
    this.#path = path
    this.#known = new Map(readHosts(path).map((each) => [each.pid, each]))
  }

  /** From now on, remembers the program of every agent that connects to this workspace. */
  watch({ name: workspace, sessions }: Pick<Workspace, 'name' | 'sessions'>): void {
    sessions.onChange((name) => {
      for (const { host, agent } of hostedSessions([...sessions.ofAgent(name)]))
        this.#remember(host, { workspace, agent })
    })
  }

  livingProcesses(): Map<number, AgentProcess> {
    for (const { pid, startedAt } of this.#known.values()) if (startTimeOf(pid) !== startedAt) this.#known.delete(pid)
    return new Map(this.#known)
  }

  #remember(pid: number, { workspace, agent }: AgentProcess): void {
    const known = this.#known.get(pid)
    const isSame = known?.workspace === workspace && known.agent === agent
    // Outside Linux, reading a process's start time runs another program, which is too slow here: this method runs often. So a known process is not checked
    // again.
    if (isSame && !isLinux) return
    const startedAt = startTimeOf(pid)
    if (startedAt === undefined || (isSame && known.startedAt === startedAt)) return
    this.#known.set(pid, { pid, startedAt, workspace, agent })
    this.livingProcesses()
    this.#write()
  }

  #write(): void {
    if (this.#path === undefined) return
    try {
      writeFileSync(`${this.#path}.tmp`, JSON.stringify([...this.#known.values()]), { mode: 0o600 })
      renameSync(`${this.#path}.tmp`, this.#path)
    } catch {
      // If the disk is full, the programs are still remembered in memory.
    }
  }
}

function readHosts(path: string | undefined): AgentHost[] {
  try {
    const found: unknown = path === undefined ? [] : JSON.parse(readFileSync(path, 'utf8'))
    return Array.isArray(found) ? found.filter(isHost) : []
  } catch {
    return []
  }
}

function isHost(each: Partial<AgentHost> | null): boolean {
  const texts = [each?.startedAt, each?.workspace, each?.agent]
  return Number.isInteger(each?.pid) && texts.every((text) => typeof text === 'string')
}
