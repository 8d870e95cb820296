// Actions and invocations as rows: read for the rules' view and for answers. They are written by evolve.

import type { ActionErrorCode } from '@agent-relay/sdk/protocol'
import type { ActionRow, InvocationRow } from '../core/view.ts'
import type { Database, Row, Statement } from './database.ts'
import { withoutNulls } from './tables.ts'

const actionColumns = 'name, provider, session, description, input_schema, output_schema, available_to, timeout_ms'
const invocationColumns = 'id, action, caller, provider, session, at, until, ok IS NOT NULL'

const statements = {
  all: `SELECT ${actionColumns} FROM actions ORDER BY name`,
  byName: `SELECT ${actionColumns} FROM actions WHERE name = ?`,
  byTool: `SELECT ${actionColumns} FROM actions WHERE tool = ?`,
  invocation: `SELECT ${invocationColumns} FROM invocations WHERE id = ?`,
  running: `SELECT ${invocationColumns} FROM invocations WHERE ok IS NULL ORDER BY until`,
  outcome: `SELECT action, caller, ok, code, message, b.body FROM invocations i
    LEFT JOIN bodies b ON b.seq = i.output WHERE i.id = ?`,
  input: 'SELECT b.body FROM invocations i JOIN bodies b ON b.seq = i.input WHERE i.id = ?',
}

/** How a call ended, or that it has not. */
export interface OutcomeRow {
  action: string
  caller: string
  isDone: boolean
  ok?: boolean
  code?: ActionErrorCode
  message?: string
  outputJson?: string
}

export class ActionRows {
  readonly #sql: Record<keyof typeof statements, Statement>
  /** By name, with the rows they were made from: parsing two hundred schemas for every list would cost more than reading them. */
  #known = new Map<string, { row: Row; action: ActionRow }>()

  constructor(database: Database) {
    this.#sql = database.prepareAll(statements)
  }

  /** The same row is the same object as long as it does not change. */
  all(): ActionRow[] {
    const rows = this.#sql.all.all()
    const actions = rows.map((row) => this.#action(row))
    this.#known = new Map(actions.map((action, at) => [action.name, { row: rows[at] as Row, action }]))
    return actions
  }

  byName(name: string): ActionRow | undefined {
    const row = this.#sql.byName.get(name)
    return row && this.#action(row)
  }

  byTool(tool: string): ActionRow | undefined {
    const row = this.#sql.byTool.get(tool)
    return row && this.#action(row)
  }

  #action(row: Row): ActionRow {
    const known = this.#known.get(row[0] as string)
    return known?.row.every((value, column) => value === row[column]) ? known.action : actionOf(row)
  }

  invocation(id: string): InvocationRow | undefined {
    const row = this.#sql.invocation.get(id)
    return row && invocationOf(row)
  }

  running(): InvocationRow[] {
    return this.#sql.running.all().map(invocationOf)
  }

  inputJson(id: string): string {
    return this.#sql.input.get(id)?.[0] as string
  }

  outcome(id: string): OutcomeRow | undefined {
    const row = this.#sql.outcome.get(id)
    if (!row) return undefined
    const [action, caller, ok, code, message, outputJson] = row
    const rest = withoutNulls({ code, message, outputJson })
    return { action, caller, isDone: ok !== null, ok: ok === 1, ...rest } as OutcomeRow
  }
}

function actionOf(row: Row): ActionRow {
  const [name, provider, session, description, input, output, available, timeoutMs] = row as [string, ...string[]]
  return {
    name,
    provider,
    session,
    description,
    inputSchema: JSON.parse(input as string),
    ...(output ? { outputSchema: JSON.parse(output) } : {}),
    ...(available ? { availableTo: JSON.parse(available) } : {}),
    timeoutMs: timeoutMs as unknown as number,
  } as ActionRow
}

function invocationOf(row: Row): InvocationRow {
  const [id, action, caller, provider, session, at, until, isDone] = row
  return {
    id,
    action,
    caller,
    at,
    until,
    isDone: isDone === 1,
    ...withoutNulls({ provider, session }),
  } as InvocationRow
}
