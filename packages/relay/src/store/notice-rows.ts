// The rows of notices, each a request to be told once about another agent: rules, the agents that asked and broker/waking/notices.ts read them, and facts write
// them.

import type { NoticeKey, NoticeRow, NoticeView } from '../core/view.ts'
import type { FactAppliers } from './appliers.ts'
import { type Database, type Row, readRow, type Statement } from './database.ts'

const columns = 'asker, agent, occasion, message, after_n, at'

const statements = {
  find: `SELECT ${columns} FROM notices WHERE asker = ? AND agent = ? AND occasion = ? AND message = ?`,
  of: `SELECT ${columns} FROM notices WHERE asker = ? ORDER BY at, agent, occasion`,
  about: 'SELECT 1 FROM notices WHERE agent = ?',
  count: 'SELECT count(*) FROM notices',
  all: `SELECT ${columns} FROM notices`,
}

export class NoticeRows implements NoticeView {
  readonly #sql: Record<keyof typeof statements, Statement>

  constructor(database: Database) {
    this.#sql = database.prepareWhenUsed(statements)
  }

  find({ asker, agent, when, message = '' }: NoticeKey): NoticeRow | undefined {
    return readRow(this.#sql.find.get(asker, agent, when, message), noticeOf)
  }

  of(asker: string): NoticeRow[] {
    return this.#sql.of.all(asker).map(noticeOf)
  }

  hasAnyAbout(agent: string): boolean {
    return this.#sql.about.get(agent) !== undefined
  }

  count(): number {
    return this.#sql.count.get()?.[0] as number
  }

  all(): NoticeRow[] {
    return this.#sql.all.all().map(noticeOf)
  }
}

function noticeOf([asker, agent, when, message, after, at]: Row): NoticeRow {
  const row = { asker, agent, when, after, at } as NoticeRow
  return message === '' ? row : { ...row, message: message as string }
}

const writes = {
  noticeAsked: 'INSERT OR REPLACE INTO notices VALUES (?, ?, ?, ?, ?, ?)',
  noticeEnded: 'DELETE FROM notices WHERE asker = ? AND agent = ? AND occasion = ? AND message = ?',
}

export function noticeAppliers(database: Database): FactAppliers<`notice.${string}`> {
  const sql = database.prepareWhenUsed(writes)
  return {
    'notice.asked': ({ asker, agent, when, message = '', after }, { at }) =>
      sql.noticeAsked.run(asker, agent, when, message, after, at),
    'notice.ended': ({ asker, agent, when, message = '' }) => sql.noticeEnded.run(asker, agent, when, message),
  }
}
