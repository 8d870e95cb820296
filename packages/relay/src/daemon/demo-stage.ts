// The demo as the page asks for it: three scripted agents in a workspace that is made for them. What they say is in demo-script.ts; the
// command of the same name is in cli/commands/demo.

import { randomBytes } from 'node:crypto'
import { isDemoName, socketPathOf } from '@agent-relay/sdk/internal/discover'
import type { Cast } from './demo-script.ts'
import type { OpenWorkspaces } from './open-workspaces.ts'

export const demoCast: Cast = { lead: 'lead', tester: 'tester', reviewer: 'reviewer', channel: 'build' }

/** Discovery recognises such a name and never chooses it by itself. */
export function freshDemoName(): string {
  return `demo-${randomBytes(2).toString('hex')}`
}

/** The page needs a moment to open, and a person to follow. */
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

  /** The name of the workspace, as soon as it is there; of the one that plays already, if one does. */
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
    // The one before goes, unless somebody looks at it.
    for (const former of this.#open.names().filter(isDemoName))
      await this.#open.remove(former, false, () => true).catch(() => {})
    const name = freshDemoName()
    await this.#open.open(name)
    void this.#script(name)
    return name
  }

  async #script(name: string): Promise<void> {
    const { dataDir, onTrouble } = this.#options
    const { signal } = this.#ending
    try {
      // Imported here because it loads zod, and most daemons never play it.
      const { play } = await import('./demo-script.ts')
      await play({ socketPath: socketPathOf(dataDir, name), cast: demoCast, paceMs, signal })
    } catch (error) {
      if (!signal.aborted) onTrouble(error as Error)
    } finally {
      this.#playing = undefined
    }
  }
}
