// Plays the demo for the page, in a workspace that is made for it or in the user's own. The script is in demo-script.ts; the command `demo` is in
// cli/commands/demo.

import { randomBytes } from 'node:crypto'
import { isDemoName, socketPathOf } from '@agent-relay/sdk/internal/discover'
import type { DemoCast } from './demo-script.ts'
import type { OpenWorkspaces } from './open-workspaces.ts'

/** The names of the demo's agents and channel in a workspace that is made for it. */
export const demoCast: DemoCast = {
  ...{ lead: 'lead', tester: 'tester', reviewer: 'reviewer' },
  ...{ builder: 'builder', channel: 'build' },
}

/** The names of the demo's agents and channel in a workspace of the user's own, chosen so that nobody else has them. */
export const guestCast: DemoCast = {
  ...{ lead: 'demo-lead', tester: 'demo-tester', reviewer: 'demo-reviewer' },
  ...{ builder: 'demo-builder', channel: 'demo' },
}

/** The time in ms in which a person may answer the demo's approval. */
export const demoAnswerMs = 60_000

/** Returns a new name for a demo's workspace. Clients never choose a workspace with such a name by themselves. */
export function newDemoName(): string {
  return `demo-${randomBytes(2).toString('hex')}`
}

/** Pause between two scenes in ms: the page takes a moment to open, and a person must be able to follow. */
const paceMs = 1_500

export class DemoStage {
  readonly #open: OpenWorkspaces
  readonly #options: { dataDir: string; onTrouble(error: Error): void }
  readonly #ending = new AbortController()
  #playing: Promise<string> | undefined

  constructor(open: OpenWorkspaces, options: { dataDir: string; onTrouble(error: Error): void }) {
    this.#open = open
    this.#options = options
  }

  /** Starts the demo, unless it is under way: in the open workspace `here`, or in a new one. Resolves to the workspace's name when the demo has begun. */
  play(here?: string): Promise<string> {
    this.#playing ??= (here === undefined ? this.#begin() : this.#beginHere(here)).catch((error) => {
      this.#playing = undefined
      throw error
    })
    return this.#playing
  }

  stop(): void {
    this.#ending.abort()
  }

  async #beginHere(name: string): Promise<string> {
    void this.#playIn(name, guestCast)
    return name
  }

  async #begin(): Promise<string> {
    // The workspace of an earlier demo is removed, unless somebody is connected to it.
    for (const former of this.#open.names().filter(isDemoName))
      await this.#open.remove(former, false, () => true).catch(() => {})
    const name = newDemoName()
    await this.#open.open(name)
    void this.#playIn(name, demoCast)
    return name
  }

  async #playIn(name: string, cast: DemoCast): Promise<void> {
    const { dataDir, onTrouble } = this.#options
    const { signal } = this.#ending
    try {
      // The script is imported here because it loads zod, and most daemons never play the demo.
      const { runDemoScript } = await import('./demo-script.ts')
      const stage = { socketPath: socketPathOf(dataDir, name), cast, paceMs, answerMs: demoAnswerMs }
      await runDemoScript({ ...stage, signal })
    } catch (error) {
      if (!signal.aborted) onTrouble(error as Error)
    } finally {
      this.#playing = undefined
    }
  }
}
