// The folder through which the daemon and the hooks of CLIs work together (mcp/src/hook-guard.ts): the daemon's process id, the fifos of waiters, and
// marks of programs for which nothing waits. Without it only the hooks lose something.

import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readForeignText } from '@agent-relay/sdk/internal/foreign-file'
import { isGone } from './is-gone.ts'

const quietFile = (host: number | string) => `quiet.${host}`
const doorFile = (host: number | string) => `door.${host}`

export class HooksFolder {
  readonly path: string
  /** For each program, by process id: its agents, and whether nothing waits for each. */
  readonly #agents = new Map<number, Map<string, boolean>>()

  constructor(path: string) {
    this.path = path
  }

  /** Removes an earlier daemon's marks, before anything can be sent: what it knew of inboxes is no longer true. */
  begin(): void {
    try {
      mkdirSync(this.path, { recursive: true, mode: 0o700 })
    } catch {}
    this.#removeAll((name) => name.startsWith(quietFile('')) || name.startsWith(doorFile('')))
  }

  announce(pid: number): void {
    try {
      writeFileSync(join(this.path, 'daemon'), `${pid}\n`, { mode: 0o600 })
    } catch {}
    this.#removeAll(isLeft)
  }

  /** The daemon that has announced itself and still lives, and since when; undefined if there is none, or it is stopping. */
  daemon(): { pid: number; since: string } | undefined {
    const path = join(this.path, 'daemon')
    try {
      const pid = Number.parseInt(readForeignText(path) ?? '', 10)
      return pid > 0 && !isGone(pid) ? { pid, since: statSync(path).mtime.toISOString() } : undefined
    } catch {
      return undefined
    }
  }

  withdraw(): void {
    try {
      rmSync(join(this.path, 'daemon'), { force: true })
    } catch {}
  }

  /**
   * Notes whether nothing waits for an agent of this program; undefined: the agent is gone. While nothing waits for any of them, a hook finds the file
   * `quiet.HOST`, and starts no Node. `agent` is unique across all workspaces.
   */
  note(host: number, agent: string, isQuiet: boolean | undefined): void {
    const agents = this.#agents.get(host) ?? new Map<string, boolean>()
    const wasQuiet = isAllQuiet(agents)
    if (isQuiet === undefined) agents.delete(agent)
    else agents.set(agent, isQuiet)
    if (agents.size === 0) this.#agents.delete(host)
    else this.#agents.set(host, agents)
    if (isAllQuiet(agents) !== wasQuiet) this.#put(quietFile(host), !wasQuiet)
  }

  /** Notes whether this daemon reaches the program's session by the program's own interface: then its hooks leave no waiter. */
  noteDoor(host: number, isOpen: boolean): void {
    this.#put(doorFile(host), isOpen)
  }

  #put(file: string, isThere: boolean): void {
    const path = join(this.path, file)
    try {
      if (isThere) writeFileSync(path, '', { mode: 0o600 })
      else rmSync(path, { force: true })
    } catch {}
  }

  #removeAll(isMeant: (name: string) => boolean): void {
    try {
      for (const name of readdirSync(this.path)) if (isMeant(name)) rmSync(join(this.path, name), { force: true })
    } catch {}
  }
}

function isAllQuiet(agents: ReadonlyMap<string, boolean>): boolean {
  return agents.size > 0 && [...agents.values()].every(Boolean)
}

/** Whether a file was left behind for a program that is gone, for example by a killed waiter: `HOST.PID`, `brief.HOST`. */
function isLeft(name: string): boolean {
  const host = /^(?:brief\.|turn\.)?(\d+)(?:\.|$)/.exec(name)?.[1]
  return host !== undefined && isGone(Number(host))
}
