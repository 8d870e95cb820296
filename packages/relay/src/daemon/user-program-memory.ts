// Remembers, across restarts of the daemon, facts about programs that people started: which agent a conversation was, and who waits for the last words of its
// turn. For Claude Code also in which directories its sessions take our messages, and which sockets of ours a killed daemon has left.

import { renameSync, writeFileSync } from 'node:fs'
import { readForeignText } from '@agent-relay/sdk/internal/discover'
import { z } from 'zod'
import type { PromisedAnswer } from './last-words.ts'

/** Maximum number of remembered conversations that a person may continue; the oldest are forgotten first. */
const agentsMax = 500
/** Maximum number of remembered pairs of a directory and a version of Claude Code used there. */
const acceptancesMax = 500
/** Maximum number of turns whose last words are promised to somebody. Some promises are never kept, if a person ends a conversation during the turn. */
const promisesMax = 100

const Memory = z.object({
  agents: z.array(z.object({ sessionId: z.string(), workspace: z.string(), agent: z.string() })),
  sockets: z.array(z.string()),
  taking: z.array(z.string()).default([]),
  promises: z
    .array(
      z.object({ conversation: z.string(), turn: z.string(), workspace: z.string(), to: z.array(z.array(z.string())) }),
    )
    .default([]),
})

export class UserProgramMemory {
  readonly #path: string | undefined
  readonly #known: z.infer<typeof Memory>

  /** `path`: the file that stores the facts. Without it, they are remembered only until the daemon ends. */
  constructor(path: string | undefined) {
    this.#path = path
    this.#known = readMemory(path) ?? { agents: [], sockets: [], taking: [], promises: [] }
  }

  get sockets(): readonly string[] {
    return this.#known.sockets
  }

  agentOf(sessionId: string, workspace: string): string | undefined {
    return this.#known.agents.find((each) => each.sessionId === sessionId && each.workspace === workspace)?.agent
  }

  rememberAgent(sessionId: string, workspace: string, agent: string): void {
    const others = this.#known.agents.filter((each) => each.sessionId !== sessionId || each.workspace !== workspace)
    this.#known.agents = [...others, { sessionId, workspace, agent }].slice(-agentsMax)
    this.#write()
  }

  promisesOf(conversation: string, workspace: string): readonly PromisedAnswer[] {
    return this.#known.promises.filter((each) => each.conversation === conversation && each.workspace === workspace)
  }

  rememberPromise(conversation: string, promised: PromisedAnswer): void {
    this.#known.promises = [...this.#known.promises, { conversation, ...promised }].slice(-promisesMax)
    this.#write()
  }

  forgetPromise(turn: string): void {
    this.#known.promises = this.#known.promises.filter((each) => each.turn !== turn)
    this.#write()
  }

  rememberSockets(sockets: readonly string[]): void {
    this.#known.sockets = [...sockets]
    this.#write()
  }

  /** Whether a session of this version in this directory has given our messages to its model. Other sessions there have the same settings, so they do too. */
  acceptsMessages(version: string, directory: string): boolean {
    return this.#known.taking.includes(`${version} ${directory}`)
  }

  rememberAcceptance(version: string, directory: string, isTaking: boolean): void {
    if (this.acceptsMessages(version, directory) === isTaking) return
    const others = this.#known.taking.filter((each) => each !== `${version} ${directory}`)
    this.#known.taking = isTaking ? [...others, `${version} ${directory}`].slice(-acceptancesMax) : others
    this.#write()
  }

  #write(): void {
    if (this.#path === undefined) return
    try {
      writeFileSync(`${this.#path}.tmp`, JSON.stringify(this.#known), { mode: 0o600 })
      renameSync(`${this.#path}.tmp`, this.#path)
    } catch {
      // If the disk is full, the facts are still remembered in memory.
    }
  }
}

function readMemory(path: string | undefined): z.infer<typeof Memory> | undefined {
  try {
    const text = path === undefined ? undefined : readForeignText(path)
    return text === undefined ? undefined : Memory.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}
