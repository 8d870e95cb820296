// Approvals as rows, read for the rules and for lists. evolve.ts writes them.

import type { ApprovalRow, ApprovalView } from '../core/view.ts'
import type { Database, Row, Statement } from './database.ts'

const columns =
  'id, agent, vendor, tool, input, is_exact, directory, choices, digest, machine, at, closed_at, how, kind, closed_by, hidden_chars, hidden_lines, is_whole'

const statements = {
  byId: `SELECT ${columns} FROM approvals WHERE id = ?`,
  open: `SELECT ${columns} FROM approvals WHERE closed_at IS NULL ORDER BY n`,
  of: `SELECT ${columns} FROM approvals WHERE closed_at IS NULL AND agent = ? ORDER BY n`,
  count: 'SELECT count(*) FROM approvals WHERE closed_at IS NULL',
  last: 'SELECT max(n) FROM approvals',
  whole: 'SELECT b.body FROM approvals a JOIN bodies b ON b.seq = a.whole WHERE a.id = ?',
}

export class ApprovalRows implements ApprovalView {
  readonly #sql: Record<keyof typeof statements, Statement>

  constructor(database: Database) {
    this.#sql = database.prepareAll(statements)
  }

  byId(id: string): ApprovalRow | undefined {
    const row = this.#sql.byId.get(id)
    return row && approvalOf(row)
  }

  open(): ApprovalRow[] {
    return this.#sql.open.all().map(approvalOf)
  }

  of(agent: string): ApprovalRow[] {
    return this.#sql.of.all(agent).map(approvalOf)
  }

  count(): number {
    return this.#sql.count.get()?.[0] as number
  }

  whole(id: string): string | undefined {
    return this.#sql.whole.get(id)?.[0] as string | undefined
  }

  last(): number {
    return (this.#sql.last.get()?.[0] as number | null) ?? 0
  }
}

function approvalOf(row: Row): ApprovalRow {
  const [id, agent, vendor, tool, input, isExact, directory, choices, digest, machine, at, ...closing] = row
  const [closedAt, how, kind, by, hiddenChars, hiddenLines, isWhole] = closing
  const approval = { id, agent, vendor, tool, input, isExact: isExact === 1, digest, at } as ApprovalRow
  approval.choices = JSON.parse(choices as string)
  if (hiddenChars !== null) approval.hiddenChars = hiddenChars as number
  if (isWhole === 1) approval.isWhole = true
  if (hiddenLines !== null) approval.hiddenLines = hiddenLines as number
  if (directory !== null) approval.directory = directory as string
  if (machine !== null) approval.machine = machine as string
  if (closedAt !== null) approval.closed = { at: closedAt, how, by, ...(kind === null ? {} : { kind }) } as never
  return approval
}
