// Applies the fact `deliveries.noted`, an agent's home machine's report of deliveries, to the receipts. All machines end with the same receipts, in whichever
// order the reports arrive.

import type { DeliveriesNoted } from '@agent-relay/sdk/protocol'
import type { Database, Statement } from './database.ts'
import type { KnownAgent, TablesMirror } from './tables.ts'

const ofMessage = 'SELECT seq, ?1, ?2, ?3 FROM messages WHERE id = ?4'

const isLater = 'offered_at IS NULL OR offered_at <= excluded.offered_at'

const statements = {
  noted: "INSERT OR REPLACE INTO meta (name, value) VALUES ('noted', ?)",
  // If an agent moves, its former and its new home machine may both have shown it the message, and the former may report later: the later time is kept, as in
  // fact-applier.ts.
  offered: `INSERT INTO receipts (message, agent, offered_at, route) ${ofMessage} ON CONFLICT DO UPDATE
    SET offered_at = excluded.offered_at, route = excluded.route WHERE ${isLater}`,
  /** Ends the hold that a session on the agent's former home machine has on the message. */
  freed:
    'UPDATE receipts SET session = NULL, until = NULL WHERE agent = ? AND message = (SELECT seq FROM messages WHERE id = ?)',
  // If an agent moves, its former and its new home machine may both report that it has read the message: the earlier time is kept.
  read: `INSERT INTO receipts (message, agent, read_at) SELECT seq, ?1, ?2 FROM messages WHERE id = ?3 ON CONFLICT DO UPDATE
    SET read_at = min(coalesce(read_at, excluded.read_at), excluded.read_at)`,
}

export class NotedReceipts {
  readonly #sql: Record<keyof typeof statements, Statement>
  readonly #tables: TablesMirror
  readonly #machine: string | undefined

  /** `machine`: the name of this machine; undefined in a workspace that is not shared. */
  constructor(database: Database, tables: TablesMirror, machine: string | undefined) {
    this.#sql = database.prepareWhenUsed(statements)
    this.#tables = tables
    this.#machine = machine
  }

  /** Applies one report, and returns the ids of the messages that it reports as read. */
  apply({ agent, machine, epoch, through, receipts }: DeliveriesNoted, { key }: KnownAgent): string[] {
    if (machine === this.#machine) this.#sql.noted.run(String(through))
    const home = this.#tables.homes.get(agent)
    const isHere = home !== undefined && home.machine === this.#machine
    // An offer that this machine made itself is in its tables already, with a more exact time.
    const isOwn = isHere && machine === this.#machine && epoch === home.epoch
    const read: string[] = []
    for (const { message, offeredAt, route, readAt } of receipts) {
      if (offeredAt !== undefined && !isOwn) this.#sql.offered.run(key, offeredAt, route ?? null, message)
      if (offeredAt !== undefined && !isHere) this.#sql.freed.run(key, message)
      if (readAt === undefined) continue
      this.#sql.read.run(key, readAt, message)
      read.push(message)
    }
    return read
  }
}
