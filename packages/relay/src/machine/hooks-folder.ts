// The folder through which the daemon and the hooks of agent CLIs work together (mcp/src/launcher/hook-guard.ts): the daemon's process id, the fifos
// of waiters (shells that wake idle sessions), and marks of programs without waiting messages. If the folder cannot be written, the daemon works on,
// and only the hooks do less.

import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readForeignText } from '@agent-relay/sdk/internal/foreign-file'
import { isProcessGone } from './is-process-gone.ts'

const quietFile = (host: number | string) => `quiet.${host}`
const ownInterfaceFile = (host: number | string) => `door.${host}`

export class HooksFolder {
  readonly path: string
  /** The agents of each agent CLI, by the CLI's process id, and for each agent whether no message waits for it. */
  readonly #agents = new Map<number, Map<string, boolean>>()

  constructor(path: string) {
    this.path = path
  }

  /** Removes the marks that an earlier daemon left, before any message can be sent: they do not describe the present inboxes. */
  removeOldMarks(): void {
    try {
      mkdirSync(this.path, { recursive: true, mode: 0o700 })
    } catch {}
    this.#removeAll((name) => name.startsWith(quietFile('')) || name.startsWith(ownInterfaceFile('')))
  }

  announceDaemon(pid: number): void {
    try {
      writeFileSync(join(this.path, 'daemon'), `${pid}\n`, { mode: 0o600 })
    } catch {}
    this.#removeAll(isLeft)
  }

  /** Returns the process id of the running daemon and when it announced itself; undefined if no daemon runs, or it is stopping. */
  runningDaemon(): { pid: number; since: string } | undefined {
    const path = join(this.path, 'daemon')
    try {
      const pid = Number.parseInt(readForeignText(path) ?? '', 10)
      return pid > 0 && !isProcessGone(pid) ? { pid, since: statSync(path).mtime.toISOString() } : undefined
    } catch {
      return undefined
    }
  }

  withdrawDaemon(): void {
    try {
      rmSync(join(this.path, 'daemon'), { force: true })
    } catch {}
  }

  /**
   * Records whether no message waits for an agent of the program with process id `host`. `isQuiet`: undefined if the agent is gone. While no message
   * waits for any agent of the program, the file `quiet.HOST` tells the program's hooks not to start Node. `agent` is unique across all workspaces.
   */
  recordQuiet(host: number, agent: string, isQuiet: boolean | undefined): void {
    const agents = this.#agents.get(host) ?? new Map<string, boolean>()
    const wasQuiet = isAllQuiet(agents)
    if (isQuiet === undefined) agents.delete(agent)
    else agents.set(agent, isQuiet)
    if (agents.size === 0) this.#agents.delete(host)
    else this.#agents.set(host, agents)
    if (isAllQuiet(agents) !== wasQuiet) this.#setMark(quietFile(host), !wasQuiet)
  }

  /** Records whether this daemon reaches the program's session through the program's own interface: then the program's hooks start no waiter. */
  recordOwnInterface(host: number, isOpen: boolean): void {
    this.#setMark(ownInterfaceFile(host), isOpen)
  }

  #setMark(file: string, isThere: boolean): void {
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

/** Whether a file named after a process (`HOST.PID`, `brief.HOST`) was left behind by a process that has ended, for example by a killed waiter. */
function isLeft(name: string): boolean {
  const host = /^(?:brief\.|turn\.)?(\d+)(?:\.|$)/.exec(name)?.[1]
  return host !== undefined && isProcessGone(Number(host))
}
