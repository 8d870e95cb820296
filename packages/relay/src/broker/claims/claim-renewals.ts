// Edits by the holder of a claim. An agent edits a file many times a minute: the journal hears of it once a minute for each claim, with the time
// of the last edit, so that the claim ends when it should. A daemon that is killed in between forgets up to that minute.

import { daemonName, limits } from '@agent-relay/sdk/protocol'
import type { ClaimRow } from '../../core/view.ts'
import type { Alarm } from '../../machine/clock.ts'
import type { Parts } from '../call.ts'

export class ClaimRenewals {
  readonly #parts: Pick<Parts, 'engine' | 'clock' | 'ids'>
  /** The latest edits, by path. */
  readonly #edits = new Map<string, { path: string; agent: string; at: number }>()
  #alarm: Alarm | undefined

  constructor(parts: Pick<Parts, 'engine' | 'clock' | 'ids'>) {
    this.#parts = parts
  }

  close(): void {
    this.#alarm?.cancel()
  }

  /** Notes that the holder edits the file again. */
  note({ path, agent, editedAt }: ClaimRow, at: number): void {
    if (at <= editedAt) return
    this.#edits.set(path, { path, agent, at })
    this.#alarm ??= this.#parts.clock.after(limits.claimRenewMs, () => this.#tell())
  }

  /** The claim with renewals that are not stored yet. */
  current(claim: ClaimRow): ClaimRow {
    const edit = this.#edits.get(claim.path)
    if (edit?.agent !== claim.agent || edit.at <= claim.editedAt) return claim
    return { ...claim, editedAt: edit.at, until: edit.at + limits.claimMs }
  }

  #tell(): void {
    const { engine, ids } = this.#parts
    this.#alarm = undefined
    const edits = [...this.#edits.values()]
    this.#edits.clear()
    void engine.submit({ rule: 'claim.renew', input: { edits }, by: daemonName, cause: ids('d') })
  }
}
