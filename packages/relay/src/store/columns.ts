// SQL that several statements share: the columns of a message's head and of a receipt, and the condition that an agent was in a conversation when a message was
// sent.

import type { Receipt, Route } from '@agent-relay/sdk/protocol'
import type { ReceiptRow } from '../core/view.ts'
import type { Row } from './database.ts'

export const headColumns = 'm.seq, m.id, m.at, m.conversation, m.n, m.sender, m.kind, m.thread, m.reply_to'
export const receiptColumns = 'r.route, r.session, r.until, r.offered_at, r.read_at'

/** Returns the SQL condition that a stay (an agent's time in a conversation) includes the message with number `n`. */
export const stayCovers = (n: string, stay = 's'): string =>
  `${stay}.joined_n < ${n} AND (${stay}.left_n IS NULL OR ${stay}.left_n >= ${n})`

/** Reads a receipt from a row in which `receiptColumns` begin at index `from`; undefined if the row has no receipt. */
export function receiptFromRow(row: Row | undefined, from = 0): ReceiptRow | undefined {
  if (!row || (row[from + 2] === null && row[from + 3] === null && row[from + 4] === null)) return undefined
  return {
    route: (row[from] ?? undefined) as Route | undefined,
    session: (row[from + 1] ?? undefined) as string | undefined,
    until: (row[from + 2] ?? undefined) as number | undefined,
    offeredAt: (row[from + 3] ?? undefined) as number | undefined,
    readAt: (row[from + 4] ?? undefined) as number | undefined,
  }
}

/** Returns the state of a receipt. A message that is on hold for a session, but was neither shown nor read, is `stored`. */
export function receiptStateOf(receipt: ReceiptRow | undefined): Receipt['state'] {
  if (receipt?.readAt !== undefined) return 'read'
  return (receipt?.route ?? receipt?.offeredAt) === undefined ? 'stored' : 'offered'
}
