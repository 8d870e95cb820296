// Reads and writes the rows of approvals, in which agents ask a person for permission. Rules and lists read them; facts write them.

import type { ApprovalOpened } from '@agent-relay/sdk/protocol'
import { machineOf } from '../core/journal.ts'
import type { ApprovalRow, ApprovalView } from '../core/view.ts'
import type { BodyKeeper, FactAppliers } from './appliers.ts'
import { type Database, type Row, readRow, type Statement } from './database.ts'

const columns =
  'id, agent, vendor, tool, input, is_exact, directory, choices, digest, machine, at, closed_at, how, kind, closed_by, hidden_chars, hidden_lines, is_whole, questions, given, mark'

const statements = {
  byId: `SELECT ${columns} FROM approvals WHERE id = ?`,
  open: `SELECT ${columns} FROM approvals WHERE closed_at IS NULL ORDER BY n`,
  of: `SELECT ${columns} FROM approvals WHERE closed_at IS NULL AND agent = ? ORDER BY n`,
  count: 'SELECT count(*) FROM approvals WHERE closed_at IS NULL',
  last: 'SELECT max(n) FROM approvals',
  byMark: `SELECT ${columns} FROM approvals WHERE mark = ? ORDER BY n DESC LIMIT 1`,
  lastAnswered: "SELECT id FROM approvals WHERE mark IS NOT NULL AND how = 'answered' ORDER BY n DESC LIMIT (? + 0)",
  whole: 'SELECT b.body FROM approvals a JOIN bodies b ON b.seq = a.whole WHERE a.id = ?',
}

export class ApprovalRows implements ApprovalView {
  readonly #sql: Record<keyof typeof statements, Statement>

  constructor(database: Database) {
    this.#sql = database.prepareAll(statements)
  }

  byId(id: string): ApprovalRow | undefined {
    return readRow(this.#sql.byId.get(id), approvalOf)
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

  byMark(mark: string): ApprovalRow | undefined {
    return readRow(this.#sql.byMark.get(mark), approvalOf)
  }

  lastAnswered(most: number): string[] {
    return this.#sql.lastAnswered.all(most).map(([id]) => id as string)
  }

  wholeInput(id: string): string | undefined {
    return this.#sql.whole.get(id)?.[0] as string | undefined
  }

  lastOpenedNumber(): number {
    return (this.#sql.last.get()?.[0] as number | null) ?? 0
  }
}

function approvalOf(row: Row): ApprovalRow {
  const [id, agent, vendor, tool, input, isExact, directory, choices, digest, machine, at, ...closing] = row
  const [closedAt, how, kind, by, hiddenChars, hiddenLines, isWhole, questions, given, mark] = closing
  const approval = { id, agent, vendor, tool, input, isExact: isExact === 1, digest, at } as ApprovalRow
  approval.choices = JSON.parse(choices as string)
  if (hiddenChars !== null) approval.hiddenChars = hiddenChars as number
  if (questions !== null) approval.questions = JSON.parse(questions as string)
  if (mark !== null) approval.mark = mark as string
  if (isWhole === 1) approval.isWhole = true
  if (hiddenLines !== null) approval.hiddenLines = hiddenLines as number
  if (directory !== null) approval.directory = directory as string
  if (machine !== null) approval.machine = machine as string
  const answer = given === null ? {} : JSON.parse(given as string)
  if (closedAt !== null) approval.closed = { at: closedAt, how, by, ...(kind === null ? {} : { kind }), ...answer }
  return approval
}

/** Returns the column values of a new approval's row, in the order of the INSERT statement. */
function approvalValues(
  { id, agent, vendor, tool, input, digest, choices, questions, ...fact }: ApprovalOpened,
  { machine, at, whole }: { machine: string | null; at: number; whole: number | null },
): (string | number | null)[] {
  const { isExact, directory = null, hiddenChars = null, hiddenLines = null, isWhole = false, mark = null } = fact
  const asked = [agent, vendor, tool, input, Number(isExact), directory, JSON.stringify(choices), digest]
  const kept = [hiddenChars, hiddenLines, whole, Number(isWhole)]
  const answered = questions ? JSON.stringify(questions) : null
  return [Number(id.slice('ap-'.length)), id, ...asked, machine, at, ...kept, answered, mark]
}

const writes = {
  approval: `INSERT INTO approvals (n, id, agent, vendor, tool, input, is_exact, directory, choices, digest, machine, at, hidden_chars,
    hidden_lines, whole, is_whole, questions, mark)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT seq FROM bodies WHERE seq = ?), ?, ?, ?)`,
  approvalClosed:
    'UPDATE approvals SET closed_at = ?, how = ?, kind = ?, closed_by = ?, given = ? WHERE id = ? AND closed_at IS NULL',
}

export function approvalAppliers(database: Database, keep: BodyKeeper): FactAppliers<`approval.${string}`> {
  const sql = database.prepareWhenUsed(writes)
  return {
    'approval.opened': (fact, entry) => {
      // An approval whose input was cut has the whole input as its entry's body. During a replay the entry comes without its body, so the row points to the
      // stored one by `seq`.
      const whole = fact.hiddenChars === undefined ? null : entry.seq
      if (whole !== null) keep(whole, entry.body)
      sql.approval.run(...approvalValues(fact, { machine: machineOf(fact, entry), at: entry.at, whole }))
    },
    'approval.closed': ({ id, how, kind = null, asker, choice, words, answers }, { at, by }) => {
      const given = choice === undefined ? null : JSON.stringify({ choice, words, answers })
      sql.approvalClosed.run(at, how, kind, asker ?? by, given, id)
    },
  }
}
