// Receipts (what an agent was shown or has read) of messages that this machine does not have yet. After a failover of the cluster's database that lost entries,
// this machine replaces its copy of the workspace, and reads from the former copy what its agents were shown and have read. That includes messages that another
// machine brings back later, or never. Each receipt waits here until its message has arrived and its agent's home is this machine. The receipt then becomes an
// entry of the local journal, and is reported to the other machines.

import type { Fact, Route } from '@agent-relay/sdk/protocol'
import type { EntryDraft } from '../core/journal.ts'
import type { Row, Statement } from './database.ts'
import type { Store } from './store.ts'

const homeIn = (copy: 'main' | 'former', agent: string) =>
  `(SELECT machine FROM ${copy}.homes h WHERE h.agent = ${agent} ORDER BY h.epoch DESC LIMIT 1)`

const keep = 'INSERT INTO main.awaited_receipts (message, agent, offered_at, route, read_at)'
// Several former copies may have the same receipt: the values that the row has already are kept.
const orAdd = `ON CONFLICT DO UPDATE SET route = CASE WHEN offered_at IS NULL THEN excluded.route ELSE route END,
  offered_at = coalesce(offered_at, excluded.offered_at), read_at = coalesce(read_at, excluded.read_at)`

/**
 * Statements that copy receipts from a former copy of the workspace. `?1` is the name of this machine. Agents are matched by id, since their names may belong
 * to other agents by now.
 */
const taking = [
  `${keep} SELECT m.id, a.id, r.offered_at, r.route, r.read_at
    FROM former.receipts r JOIN former.messages m ON m.seq = r.message JOIN former.agents a ON a.key = r.agent
    LEFT JOIN main.messages now ON now.id = m.id LEFT JOIN main.agents b ON b.id = a.id
    LEFT JOIN main.receipts s ON s.message = now.seq AND s.agent = b.key
    WHERE s.read_at IS NULL AND (r.read_at IS NOT NULL OR (r.offered_at IS NOT NULL AND s.offered_at IS NULL))
      AND ?1 IN (${homeIn('former', 'a.name')}, ${homeIn('main', 'b.name')}) ${orAdd}`,
  `${keep} SELECT message, agent, offered_at, route, read_at FROM former.awaited_receipts WHERE ?1 <> '' ${orAdd}`,
]

const due = `SELECT w.message, a.name, w.offered_at, w.route, w.read_at, w.agent
  FROM awaited_receipts w JOIN messages m ON m.id = w.message JOIN agents a ON a.id = w.agent WHERE ${homeIn('main', 'a.name')} = ?1`

const statements = {
  any: 'SELECT 1 FROM awaited_receipts LIMIT 1',
  due,
  dueOf: `${due} AND w.message = ?2`,
  dueFor: `${due} AND a.name = ?2`,
  gone: 'DELETE FROM awaited_receipts WHERE message = ? AND agent = ?',
}

export class AwaitedReceipts {
  readonly #store: Store
  readonly #sql: Record<keyof typeof statements, Statement>
  #isAny: boolean

  constructor(store: Store) {
    this.#store = store
    this.#sql = store.database.prepareWhenUsed(statements)
    this.#isAny = this.#sql.any.get() !== undefined
  }

  /** Copies the receipts of this machine's agents that another copy of the workspace has and this copy lacks. */
  copyFrom({ database: { path } }: Store): void {
    const { database, machine } = this.#store
    if (machine === undefined) return
    database.exec(`ATTACH '${path.replaceAll("'", "''")}' AS former`)
    try {
      this.#store.transact(() => {
        for (const sql of taking) database.prepare(sql).run(machine)
        this.#tell(this.#sql.due.all(machine))
      })
    } finally {
      database.exec('DETACH former')
    }
    this.#isAny = this.#sql.any.get() !== undefined
  }

  /**
   * Looks for messages and agents that these facts bring, and stores the receipts that were waiting for them. Call it inside the transaction that writes the
   * facts. Returns whether there were any.
   */
  storeArrived(facts: Iterable<Fact>): boolean {
    const { machine } = this.#store
    if (!this.#isAny || machine === undefined) return false
    let isTold = false
    for (const fact of facts) {
      const rows =
        fact.type === 'message.created'
          ? this.#sql.dueOf.all(machine, fact.id)
          : fact.type === 'agent.homed'
            ? this.#sql.dueFor.all(machine, fact.agent)
            : []
      this.#tell(rows)
      isTold ||= rows.length > 0
    }
    return isTold
  }

  #tell(rows: Row[]): void {
    for (const row of rows) {
      const [message, agent, offeredAt, route, readAt, id] = row as [
        ...[string, string, number | null, Route | null, number | null, string],
      ]
      if (offeredAt !== null && route !== null)
        this.#append(agent, offeredAt, 'inbox.offer', { type: 'delivery.offered', message, agent, route })
      if (readAt !== null) this.#append(agent, readAt, 'inbox.read', { type: 'delivery.read', message, agent })
      this.#sql.gone.run(message, id)
    }
  }

  #append(by: string, at: number, rule: string, fact: Fact): void {
    // The command needs an id that no other entry has. The message's id would not do, since the same message may be lost and come back twice. The last number
    // of the local journal is never reused.
    const cause = `returned ${this.#store.local?.lastSeq}`
    const draft: EntryDraft = { at, by, cause, rule, facts: [fact], outcome: {} }
    if (!this.#store.appendLocal(draft)) throw new Error(`${cause} has an entry already`)
  }
}
