// Renews claims by further edits of their holders. An agent edits a file many times a minute: the journal is told once a minute for each claim, with the time
// of the last edit, so that the claim ends when it should. A daemon that is killed in between forgets up to that minute.

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

  /** Returns the claim with its renewal, if that is not stored yet. */
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
