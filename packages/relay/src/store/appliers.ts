// The contract of what applies facts: each noun's rows are read and written in one file (`notice-rows.ts`), and evolve.ts joins the writers.

import type { Entry, Fact } from '@agent-relay/sdk/protocol'
import type { JournalEntry, Origin } from '../core/journal.ts'
import type { Database } from './database.ts'

/** An entry to apply, or its facts alone where the journal is replayed: its body and payload are stored already then. */
export type Applied = Entry & Pick<JournalEntry, 'body' | 'payload'> & Partial<Origin>

/** For each fact whose type fits, such as `run.${string}`, what it does to the rows. */
export type Appliers<Types extends string = string> = {
  readonly [T in Extract<Fact['type'], Types>]: (fact: Extract<Fact, { type: T }>, entry: Applied) => void
}

/** Stores the body of an entry that is not a message's. */
export type BodyKeeper = (seq: number, body: string | undefined) => void

export function bodyKeeper(database: Database): BodyKeeper {
  const insert = database.prepare('INSERT INTO bodies (seq, body) VALUES (?, ?)')
  return (seq, body) => {
    if (body !== undefined) insert.run(seq, body)
  }
}
