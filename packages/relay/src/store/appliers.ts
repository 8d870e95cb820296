// Types of the functions that apply facts (stored events) to rows. Each noun has one file for its rows, such as `notice-rows.ts`; fact-applier.ts puts the
// functions of all nouns together.

import type { Entry, Fact } from '@agent-relay/sdk/protocol'
import type { EntryOrigin, JournalEntry } from '../core/journal.ts'
import type { Database } from './database.ts'

/** A journal entry to apply to the tables. During a replay of the journal, its body and payload are left out: their tables have them already. */
export type EntryToApply = Entry & Pick<JournalEntry, 'body' | 'payload'> & Partial<EntryOrigin>

/** A table of functions: for each type of fact that fits the pattern, such as `run.${string}`, the function that changes the rows. */
export type FactAppliers<Types extends string = string> = {
  readonly [T in Extract<Fact['type'], Types>]: (fact: Extract<Fact, { type: T }>, entry: EntryToApply) => void
}

/** Stores the body of an entry in the table `bodies`. The body of a message is not stored there: it is in the table `messages`. */
export type BodyKeeper = (seq: number, body: string | undefined) => void

export function bodyKeeper(database: Database): BodyKeeper {
  const insert = database.prepare('INSERT INTO bodies (seq, body) VALUES (?, ?)')
  return (seq, body) => {
    if (body !== undefined) insert.run(seq, body)
  }
}
