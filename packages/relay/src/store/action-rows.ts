// Reads and writes the rows of actions (functions that programs offer to agents) and of their calls, named invocations. Rules and answers read them; facts
// write them.

import { type ActionCompleted, toolNameOf } from '@agent-relay/sdk/protocol'
import { autoListedAuthorities } from '../core/actions.ts'
import { machineOf } from '../core/journal.ts'
import type { ActionRow, ActionView, InvocationRow } from '../core/view.ts'
import type { BodyKeeper, FactAppliers } from './appliers.ts'
import { type Database, pagesOf, type Row, readRow, type Statement } from './database.ts'
import { withoutNulls } from './tables.ts'

const actionColumns =
  'name, provider, session, description, input_schema, output_schema, available_to, timeout_ms, machine, authority'
const invocationColumns = 'id, action, caller, provider, session, at, until, ok IS NOT NULL, machine'

const statements = {
  all: `SELECT ${actionColumns} FROM actions WHERE name > ? ORDER BY name LIMIT (? + 0)`,
  unasked: `SELECT ${actionColumns} FROM actions WHERE name > ? AND authority IN (${autoListedAuthorities.map((each) => `'${each}'`)})
    ORDER BY name LIMIT (? + 0)`,
  byName: `SELECT ${actionColumns} FROM actions WHERE name = ?`,
  byTool: `SELECT ${actionColumns} FROM actions WHERE tool = ?`,
  invocation: `SELECT ${invocationColumns} FROM invocations WHERE id = ?`,
  running: `SELECT ${invocationColumns} FROM invocations WHERE ok IS NULL ORDER BY until`,
  outcome: `SELECT action, caller, ok, code, message, b.body FROM invocations i
    LEFT JOIN bodies b ON b.seq = i.output WHERE i.id = ?`,
  input: 'SELECT b.body FROM invocations i JOIN bodies b ON b.seq = i.input WHERE i.id = ?',
}

/** The state of one call of an action: who called it, whether it has ended, and its output or error. */
export interface InvocationOutcome extends Pick<ActionCompleted, 'action' | 'caller' | 'code' | 'message'> {
  isDone: boolean
  ok?: boolean
  outputJson?: string
}

/** Number of actions that one statement reads when all are listed. */
const actionsPerStep = 16

type KnownActions = Map<string, { row: Row; action: ActionRow }>

export class ActionRows implements ActionView {
  readonly #sql: Record<keyof typeof statements, Statement>
  /**
   * A cache of parsed actions by name, each with the row it was made from: parsing two hundred schemas for each list would take longer than reading the rows.
   */
  #known: KnownActions = new Map()

  constructor(database: Database) {
    this.#sql = database.prepareAll(statements)
  }

  /**
   * Yields the actions in the order of their names. It reads a few rows at a time, since an action's schemas can be long. An unchanged row gives the same
   * parsed object again.
   */
  *all(which: 'all' | 'unasked' = 'all'): Generator<ActionRow, void, void> {
    const known: KnownActions = new Map()
    const pages = pagesOf<Row>(actionsPerStep, (last) => this.#sql[which].all(last?.[0] ?? '', actionsPerStep))
    for (const rows of pages)
      for (const row of rows) {
        const action = this.#action(row)
        known.set(action.name, { row, action })
        yield action
      }
    if (which === 'all') this.#known = known
  }

  byName(name: string): ActionRow | undefined {
    return readRow(this.#sql.byName.get(name), (row) => this.#action(row))
  }

  byTool(tool: string): ActionRow | undefined {
    return readRow(this.#sql.byTool.get(tool), (row) => this.#action(row))
  }

  #action(row: Row): ActionRow {
    const known = this.#known.get(row[0] as string)
    return known?.row.every((value, column) => value === row[column]) ? known.action : actionOf(row)
  }

  invocation(id: string): InvocationRow | undefined {
    return readRow(this.#sql.invocation.get(id), invocationOf)
  }

  running(): InvocationRow[] {
    return this.#sql.running.all().map(invocationOf)
  }

  inputJson(id: string): string {
    return this.#sql.input.get(id)?.[0] as string
  }

  outcome(id: string): InvocationOutcome | undefined {
    const row = this.#sql.outcome.get(id)
    if (!row) return undefined
    const [action, caller, ok, code, message, outputJson] = row
    const rest = withoutNulls({ code, message, outputJson })
    return { action, caller, isDone: ok !== null, ok: ok === 1, ...rest } as InvocationOutcome
  }
}

function actionOf(row: Row): ActionRow {
  const [name, provider, session, description, input, output, available, timeoutMs, machine, authority] = row as [
    string,
    ...string[],
  ]
  return {
    name,
    provider,
    session,
    description,
    inputSchema: JSON.parse(input as string),
    ...(output ? { outputSchema: JSON.parse(output) } : {}),
    ...(available ? { availableTo: JSON.parse(available) } : {}),
    timeoutMs: timeoutMs as unknown as number,
    ...(machine ? { machine } : {}),
    ...(authority ? { authority } : {}),
  } as ActionRow
}

function invocationOf(row: Row): InvocationRow {
  const [id, action, caller, provider, session, at, until, isDone, machine] = row
  return {
    id,
    action,
    caller,
    at,
    until,
    isDone: isDone === 1,
    ...withoutNulls({ provider, session, machine }),
  } as InvocationRow
}

const writes = {
  action: `INSERT OR REPLACE INTO actions (name, tool, provider, session, description, input_schema, output_schema, available_to, timeout_ms, machine, authority)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  withdrawn: 'DELETE FROM actions WHERE name = ?',
  invoked:
    'INSERT INTO invocations (id, action, caller, provider, session, at, until, machine, input) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
  completed: 'UPDATE invocations SET ok = ?, code = ?, message = ?, output = ?, duration_ms = ? WHERE id = ?',
}

export function actionAppliers(database: Database, keep: BodyKeeper): FactAppliers<`action.${string}`> {
  const sql = database.prepareWhenUsed(writes)
  return {
    'action.registered': (fact, entry) => {
      const { name, provider, session, description, inputSchema, outputSchema, availableTo, timeoutMs } = fact
      const optional = [outputSchema, availableTo].map((value) => (value === undefined ? null : JSON.stringify(value)))
      const [output = null, available = null] = optional
      const schemas = [JSON.stringify(inputSchema), output, available]
      const place = [timeoutMs, machineOf(fact, entry), fact.authority ?? null]
      sql.action.run(name, toolNameOf(name), provider, session, description, ...schemas, ...place)
    },
    'action.withdrawn': ({ name }) => sql.withdrawn.run(name),
    'action.invoked': (fact, { seq, at, body }) => {
      const { id, action, caller, provider = null, session = null, until, machine = null } = fact
      keep(seq, body)
      sql.invoked.run(id, action, caller, provider, session, at, until, machine, seq)
    },
    'action.completed': ({ id, ok, code = null, message = null, durationMs }, { seq, facts, body }) => {
      // If an invocation could not begin, its entry has both `action.invoked` and `action.completed`. The entry's body is then the invocation's input, not its
      // output.
      const isOwnBody = !facts.some(({ type }) => type === 'action.invoked')
      if (ok && isOwnBody) keep(seq, body)
      sql.completed.run(ok ? 1 : 0, code, message, ok ? seq : null, durationMs, id)
    },
  }
}
