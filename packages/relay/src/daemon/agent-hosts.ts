// The programs in which agents have been connected to this daemon or the one before it, each remembered until its process is gone. An agent that ends
// its own MCP server, or the daemon, is still an agent. What follows from that is decided in broker/sessions/person.ts.

import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { AgentProcess } from '../broker/sessions/person.ts'
import { hostedAmong } from '../broker/sessions/session.ts'
import type { Workspace } from '../broker/workspace.ts'
import { isLinux, startOf } from '../supervisor/processes.ts'

interface Host extends AgentProcess {
  pid: number
  /** Tells processes apart, since a process id may be given again. */
  startedAt: string
}

export class AgentHosts {
  readonly #path: string | undefined
  readonly #known: Map<number, Host>

  /** Without a path the programs are forgotten with the daemon. */
  constructor(path: string | undefined) {
    this.#path = path
    this.#known = new Map(read(path).map((each) => [each.pid, each]))
  }

  /** Notes the program of every agent that comes to this workspace from now on. */
  watch({ name: workspace, sessions }: Pick<Workspace, 'name' | 'sessions'>): void {
    sessions.onChange((name) => {
      for (const { host, agent } of hostedAmong([...sessions.ofAgent(name)])) this.#note(host, { workspace, agent })
    })
  }

  living(): Map<number, AgentProcess> {
    for (const { pid, startedAt } of this.#known.values()) if (startOf(pid) !== startedAt) this.#known.delete(pid)
    return new Map(this.#known)
  }

  #note(pid: number, { workspace, agent }: AgentProcess): void {
    const known = this.#known.get(pid)
    const isSame = known?.workspace === workspace && known.agent === agent
    // On other systems finding the start time takes a process of its own, and this runs often.
    if (isSame && !isLinux) return
    const startedAt = startOf(pid)
    if (startedAt === undefined || (isSame && known.startedAt === startedAt)) return
    this.#known.set(pid, { pid, startedAt, workspace, agent })
    this.living()
    this.#write()
  }

  #write(): void {
    if (this.#path === undefined) return
    try {
      writeFileSync(`${this.#path}.tmp`, JSON.stringify([...this.#known.values()]), { mode: 0o600 })
      renameSync(`${this.#path}.tmp`, this.#path)
    } catch {
      // The disk is full: this daemon still has them all in memory.
    }
  }
}

function read(path: string | undefined): Host[] {
  try {
    const found: unknown = path === undefined ? [] : JSON.parse(readFileSync(path, 'utf8'))
    return Array.isArray(found) ? found.filter(isHost) : []
  } catch {
    return []
  }
}

function isHost(each: Partial<Host> | null): boolean {
  const texts = [each?.startedAt, each?.workspace, each?.agent]
  return Number.isInteger(each?.pid) && texts.every((text) => typeof text === 'string')
}
