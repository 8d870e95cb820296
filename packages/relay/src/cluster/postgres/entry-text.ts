// Converts journal entries to text that PostgreSQL can keep, and back.

import type { EntryDraft } from '../../core/journal.ts'
import type { SharedDraft } from '../cluster-journal.ts'
import { unstorableCharacters } from '../keys.ts'

/**
 * Returns the last three arguments of an SQL function that stores drafts, as JSON: the fields that the function reads, the other fields of each draft, and
 * the payloads.
 */
export function draftTexts(drafts: readonly (EntryDraft | SharedDraft)[]): [string, string, string] {
  const payloads = drafts.some(({ payload }) => payload) ? drafts.map(payloadOf) : []
  return [JSON.stringify(drafts.map(headOf)), JSON.stringify(drafts.map(entryText)), JSON.stringify(payloads)]
}

/** COMPAT(0.1): lists the home machines that the drafts set for agents. In format 1 the database keeps these. */
export function homesText(drafts: readonly EntryDraft[]): string {
  const homed = drafts.flatMap(({ facts }) => facts.flatMap((fact) => (fact.type === 'agent.homed' ? [fact] : [])))
  return JSON.stringify(homed.map(({ agent, machine, epoch }) => ({ agent: toStorableText(agent), machine, epoch })))
}

function headOf(draft: EntryDraft | SharedDraft) {
  const { at, by, cause } = draft
  return {
    at,
    by: toStorableText(by),
    cause: toStorableText(cause),
    ...('writes' in draft ? { writes: draft.writes } : {}),
  }
}

function entryText(draft: EntryDraft): string {
  const { at: _, by: __, cause: ___, payload: ____, writes: _____, ...rest } = draft as SharedDraft
  return JSON.stringify(rest)
}

function payloadOf({ payload }: EntryDraft): string | null {
  return payload ? Buffer.from(payload).toString('base64') : null
}

/** Encodes a text so that the server can store it. Different texts get different codes. */
export function toStorableText(text: string): string {
  return unstorableCharacters.test(text) || text.startsWith('\\') ? `\\${JSON.stringify(text)}` : text
}

export function fromStorableText(text: string): string {
  return text.startsWith('\\') ? JSON.parse(text.slice(1)) : text
}
