// Plays the demo for the page: three scripted agents in a workspace made for them. Their script is in demo-script.ts; the command of the same name is in
// cli/commands/demo.

import { randomBytes } from 'node:crypto'
import { isDemoName, socketPathOf } from '@agent-relay/sdk/internal/discover'
import type { DemoCast } from './demo-script.ts'
import type { OpenWorkspaces } from './open-workspaces.ts'

export const demoCast: DemoCast = { lead: 'lead', tester: 'tester', reviewer: 'reviewer', channel: 'build' }

/** A new name for a demo's workspace. Discovery recognises such a name and never chooses it by itself. */
export function newDemoName(): string {
  return `demo-${randomBytes(2).toString('hex')}`
}

/** Pause between two scenes: the page needs a moment to open, and a person to follow. */
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

  /** Starts the demo, unless one plays already. Resolves with the name of the demo's workspace once the workspace exists. */
  play(): Promise<string> {
    this.#playing ??= this.#begin().catch((error) => {
      this.#playing = undefined
      throw error
    })
    return this.#playing
  }

  stop(): void {
    this.#ending.abort()
  }

  async #begin(): Promise<string> {
    // The workspace of an earlier demo is removed, unless somebody looks at it.
    for (const former of this.#open.names().filter(isDemoName))
      await this.#open.remove(former, false, () => true).catch(() => {})
    const name = newDemoName()
    await this.#open.open(name)
    void this.#playIn(name)
    return name
  }

  async #playIn(name: string): Promise<void> {
    const { dataDir, onTrouble } = this.#options
    const { signal } = this.#ending
    try {
      // The script is imported here because it loads zod, and most daemons never play the demo.
      const { runDemoScript } = await import('./demo-script.ts')
      await runDemoScript({ socketPath: socketPathOf(dataDir, name), cast: demoCast, paceMs, signal })
    } catch (error) {
      if (!signal.aborted) onTrouble(error as Error)
    } finally {
      this.#playing = undefined
    }
  }
}
