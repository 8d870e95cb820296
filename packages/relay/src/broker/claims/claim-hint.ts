// The file `claims.WORKSPACE`, by which hooks of agent CLIs know that edits must be checked against claims (files that an agent is editing). While it is
// missing, an edit's hook ends in its shell script and does not ask the daemon (mcp/src/launcher/hook-guard.ts).

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { daemonName } from '@agent-relay/sdk/protocol'
import type { WorkspaceParts } from '../call.ts'

/** Returns the names of connected agents. People do not count: their editors' edits are not checked against claims. */
export function liveAgents({ store, sessions }: Pick<WorkspaceParts, 'store' | 'sessions'>): string[] {
  const names = new Set(sessions.all().flatMap(({ agent }) => agent ?? []))
  return [...names].filter((name) => isAgent(store, name))
}

function isAgent(store: WorkspaceParts['store'], name: string): boolean {
  return name !== daemonName && store.view.agent(name)?.type !== 'human'
}

export class ClaimHintFile {
  readonly #parts: Pick<WorkspaceParts, 'store' | 'sessions' | 'clock'>
  readonly #path: string | undefined
  #isThere = false

  constructor(parts: Pick<WorkspaceParts, 'store' | 'sessions' | 'clock' | 'hub' | 'name'>, folder?: string) {
    this.#parts = parts
    this.#path = folder === undefined ? undefined : join(folder, `claims.${parts.name}`)
    if (this.#path === undefined) return
    parts.sessions.onChange(() => this.#update())
    parts.hub.listen((entries) => {
      const isNews = ({ type }: { type: string }) => type === 'claim.made' || type === 'workspace.policy-set'
      if (entries.some(({ facts }) => facts.some(isNews))) this.#update()
    })
    this.#update(true)
  }

  close(): void {
    if (this.#isThere) this.#write(false)
  }

  #update(isFirst = false): void {
    const { store, clock } = this.#parts
    const isNeeded = store.view.policy().claims !== 'off' && this.#mayConflict(clock.now())
    if (isNeeded !== this.#isThere || isFirst) this.#write(isNeeded)
  }

  /**
   * Whether an edit may meet another agent's claim: two agents are connected, or one is and a claim exists. There may be thousands of sessions, so the search
   * stops at the second agent.
   */
  #mayConflict(now: number): boolean {
    const { store, sessions } = this.#parts
    const found = new Set<string>()
    for (const { agent } of sessions.all()) {
      if (agent !== undefined && !found.has(agent) && isAgent(store, agent)) found.add(agent)
      if (found.size > 1) return true
    }
    return found.size > 0 && store.view.claims.count(now) > 0
  }

  /** Writes or removes the hint file. If that fails, hooks check no claims; nothing else fails. */
  #write(isNeeded: boolean): void {
    const path = this.#path as string
    this.#isThere = isNeeded
    try {
      if (!isNeeded) return rmSync(path, { force: true })
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      writeFileSync(path, '', { mode: 0o600 })
    } catch {}
  }
}
