// Extends claims (files that an agent is editing) when their holders edit again. An agent may edit a file many times a minute, so the edits are kept in memory
// and written to the journal once a minute, with the time of the last edit. A daemon that is killed loses up to a minute of them.

import { limits } from '@agent-relay/sdk/protocol'
import type { ClaimRow } from '../../core/view.ts'
import type { Alarm } from '../../machine/clock.ts'
import type { WorkspaceParts } from '../call.ts'
import { submitByDaemon } from '../commands.ts'

export class ClaimRenewals {
  readonly #parts: Pick<WorkspaceParts, 'engine' | 'clock' | 'ids'>
  /** The latest edits that are not in the journal yet, by the file's path. */
  readonly #edits = new Map<string, { path: string; agent: string; at: number }>()
  #alarm: Alarm | undefined

  constructor(parts: Pick<WorkspaceParts, 'engine' | 'clock' | 'ids'>) {
    this.#parts = parts
  }

  close(): void {
    this.#alarm?.cancel()
  }

  /** Records that the holder of a claim has edited the file again. */
  record({ path, agent, editedAt }: ClaimRow, at: number): void {
    if (at <= editedAt) return
    this.#edits.set(path, { path, agent, at })
    this.#alarm ??= this.#parts.clock.after(limits.claimRenewMs, () => this.#submit())
  }

  /** Returns the claim as its holder's latest edit extends it, even if that edit is not in the journal yet. */
  current(claim: ClaimRow): ClaimRow {
    const edit = this.#edits.get(claim.path)
    if (edit?.agent !== claim.agent || edit.at <= claim.editedAt) return claim
    return { ...claim, editedAt: edit.at, until: edit.at + limits.claimMs }
  }

  #submit(): void {
    this.#alarm = undefined
    const edits = [...this.#edits.values()]
    this.#edits.clear()
    void submitByDaemon(this.#parts, 'claim.renew', { edits })
  }
}
