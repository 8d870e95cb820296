// Our agents in Claude Code's own list of agents, so that its sessions write to them by name. Each stands there by a record of a living process: the
// agent's own, or this daemon for those that have none. Nothing is written before the person has agreed. Only our own records are ever
// touched, and they are known by a field that no other program writes.

import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readForeignText } from '@agent-relay/sdk/internal/discover'
import { startOf } from '../processes.ts'
import { type ClaudeSession, writtenBy } from './registry.ts'

export interface Listed {
  /** Of the process by which it stands there. */
  pid: number
  name: string
  directory: string
  isBusy: boolean
  /** Where what is sent to it arrives. */
  socketPath: string
}

interface Written {
  text: string
  paths: readonly string[]
}

export class ClaudeRecords {
  readonly #folder: string
  readonly #written = new Map<number, Written>()

  constructor(home: string) {
    this.#folder = join(home, 'sessions')
    this.#removeDead()
  }

  /** From now on these stand there and no others. `like`: a session that runs, of whose version and container the records are. */
  list(all: readonly Listed[], like: ClaudeSession | undefined): void {
    const wanted = new Map(like ? all.map((each) => [each.pid, each]) : [])
    for (const pid of [...this.#written.keys()]) if (!wanted.has(pid)) this.#remove(pid)
    for (const each of wanted.values()) this.#write(each, like as ClaudeSession)
  }

  close(): void {
    for (const pid of [...this.#written.keys()]) this.#remove(pid)
  }

  #write({ pid, name, directory: cwd, isBusy, socketPath }: Listed, { version, pidDomain }: ClaudeSession): void {
    const procStart = startOf(pid)
    if (procStart === undefined) return this.#remove(pid)
    const status = isBusy ? 'busy' : 'idle'
    const same = {
      pid,
      cwd,
      procStart,
      version,
      pidDomain,
      name,
      status,
      messagingSocketPath: socketPath,
      ...writtenBy(),
    }
    const text = JSON.stringify(same)
    const known = this.#written.get(pid)
    if (known?.text === text) return
    const now = Date.now()
    const [recordPath, keyPath] = known?.paths ?? [
      join(this.#folder, `${pid}.json`),
      join(this.#folder, `${pid}.${createHash('sha256').update(socketPath).digest('hex')}.key`),
    ]
    // Somebody else's record of this process stays.
    if (!known && this.#isTaken(recordPath as string)) return
    const record = {
      ...{ ...same, sessionId: randomUUID(), startedAt: now, updatedAt: now, statusUpdatedAt: now },
      ...{
        peerProtocol: 1,
        peerFeatures: [],
        kind: 'interactive',
        entrypoint: 'cli',
        nameSource: 'user',
        nameSince: now,
      },
    }
    const key = { peerToken: randomBytes(16).toString('hex'), procStart, pidDomain }
    if (!known) this.#put(keyPath as string, key)
    this.#put(recordPath as string, record)
    this.#written.set(pid, { text, paths: [recordPath as string, keyPath as string] })
  }

  /** Whole or not at all: every session reads it at any time. */
  #put(path: string, content: object): void {
    const draft = `${path}.${process.pid}`
    writeFileSync(draft, JSON.stringify(content), { mode: 0o600, flag: 'wx' })
    renameSync(draft, path)
  }

  #remove(pid: number): void {
    for (const path of this.#written.get(pid)?.paths ?? []) rmSync(path, { force: true })
    this.#written.delete(pid)
  }

  #isTaken(path: string): boolean {
    try {
      return readForeignText(path) !== undefined
    } catch {
      return true
    }
  }

  /** Those of a daemon that was killed: they would be listed for as long as their processes live. */
  #removeDead(): void {
    for (const file of this.#files().filter((name) => name.endsWith('.json'))) {
      const { agentRelay } = this.#own(file) ?? {}
      if (!agentRelay || startOf(agentRelay.daemon) === agentRelay.start) continue
      const pid = file.slice(0, -'.json'.length)
      for (const each of this.#files().filter(
        (name) => name === file || (name.startsWith(`${pid}.`) && name.endsWith('.key')),
      ))
        rmSync(join(this.#folder, each), { force: true })
    }
  }

  #files(): string[] {
    try {
      return readdirSync(this.#folder)
    } catch {
      return []
    }
  }

  #own(file: string): Partial<ReturnType<typeof writtenBy>> | undefined {
    try {
      return JSON.parse(readForeignText(join(this.#folder, file)) ?? 'null') ?? undefined
    } catch {
      return undefined
    }
  }
}
