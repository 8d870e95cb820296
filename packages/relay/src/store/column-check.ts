// Checks that every column of a database file holds values that we could have written. A file that may come from anybody, such as one in a backup, is checked
// this way before it is used as a workspace. integrity.ts checks that the file's pages are whole and that values have the types of their columns, schema.ts
// that the columns are ours.

import {
  AgentRole,
  AgentType,
  ApprovalChoice,
  approvalHows,
  Claim,
  type Fact,
  messageKinds,
  routes,
  runStatuses,
  workerControls,
  workerStates,
} from '@agent-relay/sdk/protocol'
import { factTypes, malformedField } from '../core/facts/table.ts'
import { RefusalError } from '../core/refusal-error.ts'
import { Database } from './database.ts'
import { prepareDatabase } from './migrating.ts'

/** The condition that the values of a column must meet: `what` for the error's text, `sql` for the check. */
interface Expected {
  what: string
  sql(column: string): string
}

function wordOf(words: readonly string[]): Expected {
  return { what: `one of ${words.join(', ')}`, sql: (column) => `${column} IN (${quoted(words)})` }
}

const json: Expected = {
  what: 'JSON',
  // SQLite's own functions read a text only up to U+0000, so JSON with that character is refused.
  sql: (column) => `json_valid(${column}) AND instr(${column}, char(0)) = 0`,
}

/** Returns the condition that a column holds a JSON array or object which also meets the SQL condition `more`. */
function jsonOf(type: 'array' | 'object', what: string, more: (column: string) => string = () => '1'): Expected {
  return {
    what,
    sql: (c) => `CASE WHEN ${json.sql(c)} THEN json_type(${c}) = '${type}' AND ${more(c)} ELSE 0 END`,
  }
}

const list = jsonOf('array', 'a list as JSON')
const object = jsonOf('object', 'an object as JSON')
const facts = jsonOf('array', 'a list of facts that this version knows', (column) => {
  const isKnown = `type = 'object' AND coalesce(json_extract(value, '$.type'), '') IN (${quoted(factTypes)})`
  return `NOT EXISTS (SELECT 1 FROM json_each(${column}) WHERE NOT (${isKnown}))`
})
/** The condition for a column that holds the number of an entry: the body of that entry must be JSON. */
const jsonBody: Expected = {
  what: 'an entry with JSON',
  sql: (column) => `coalesce((SELECT ${json.sql('body')} FROM bodies WHERE bodies.seq = ${column}), 1)`,
}

const policy = jsonOf('object', 'a policy', (column) => {
  const isOf = (field: string, type: string) => `coalesce(json_type(${column}, '$.${field}'), '${type}') = '${type}'`
  return `${isOf('approve', 'array')} AND ${isOf('terminal', 'object')}`
})

/** The conditions by table and column. The types of the columns are not repeated here: the schema enforces them. */
const expected: Record<string, Record<string, Expected>> = {
  meta: { value: { what: policy.what, sql: (column) => `name <> 'policy' OR ${policy.sql(column)}` } },
  journal: { facts, outcome: json },
  local_journal: { facts, outcome: json },
  agents: { type: wordOf(AgentType.options), role: wordOf(AgentRole.options) },
  messages: { kind: wordOf(messageKinds) },
  receipts: { route: wordOf(routes) },
  awaited_receipts: { route: wordOf(routes) },
  actions: { input_schema: object, output_schema: object, available_to: list },
  invocations: { input: jsonBody, output: jsonBody },
  workers: {
    ...{ command: list, args: list, worktree: object, asked: object },
    ...{ status: wordOf(workerStates), wish: wordOf(['run', 'paused', 'gone']), control: wordOf(workerControls) },
  },
  runs: { status: wordOf(runStatuses) },
  claims: { how: wordOf(Claim.shape.how.options) },
  approvals: {
    choices: list,
    questions: list,
    given: object,
    how: wordOf(approvalHows),
    kind: wordOf(ApprovalChoice.shape.kind.options),
  },
}

/** The largest integer that JavaScript counts exactly, and the largest time that its Date can hold, in ms. */
const [numberMax, timeMax] = [Number.MAX_SAFE_INTEGER, 8.64e15]
const times = /^(?:at|until|since|horizon|\w+_at)$/

function expectedNumber(name: string): Expected {
  const isTime = times.test(name)
  const max = isTime ? timeMax : numberMax
  return {
    what: isTime ? 'a time' : 'a number that can be read',
    sql: (column) => `${column} BETWEEN -${max} AND ${max}`,
  }
}

/** Returns an error text about the first column that holds a value it should not; undefined if there is none. Migrates the tables of the file first. */
export function columnFault(path: string): string | undefined {
  let database: Database | undefined
  try {
    database = new Database(path)
    return prepareDatabase(database, findColumnFault)
  } catch (error) {
    if (error instanceof RefusalError) throw error
    // A migration reads the columns too, so a wrong value may make it fail.
    return (error as Error).message
  } finally {
    if (database?.isOpen) database.close()
  }
}

export function findColumnFault(database: Database): string | undefined {
  const names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
  for (const [table] of database.prepare(names).all()) {
    const checks = checksOf(database, table as string)
    if (checks.length === 0) continue
    // One pass over the table runs the checks of all its columns. The result of a check is 1 if any row fails it.
    const broken = checks.map(
      ([column, { sql }]) => `max(NOT ("${column}" IS NULL OR (${sql(`"${table}"."${column}"`)})))`,
    )
    const row = database.prepare(`SELECT ${broken.join(', ')} FROM "${table}"`).get() ?? []
    const found = checks.find((_, n) => row[n] === 1)
    if (found) return `its column ${table}.${found[0]} holds something else than ${found[1].what}`
  }
  return factFault(database, 'journal') ?? factFault(database, 'local_journal')
}

const factRows = 1_000

/**
 * Returns an error text about the first malformed fact of a journal. Such a fact would stop every machine that replays the journal: this one, or one that the
 * workspace is shared with.
 */
function factFault(database: Database, table: string): string | undefined {
  const page = database.prepare(`SELECT seq, facts FROM ${table} WHERE seq > ? ORDER BY seq LIMIT ${factRows}`)
  for (let rows = page.all(0); rows.length > 0; rows = page.all(rows.at(-1)?.[0] as number))
    for (const [seq, text] of rows)
      for (const fact of JSON.parse(text as string) as Fact[]) {
        // A fact `workspace.policy-set` is not checked: older versions stored other fields. The policy in force is checked as the column `meta.value`.
        const field = fact.type === 'workspace.policy-set' ? undefined : malformedField(fact)
        if (field !== undefined) return `entry ${seq} of its ${table} holds a ${fact.type} whose ${field} is malformed`
      }
  return undefined
}

function checksOf(database: Database, table: string): [column: string, expected: Expected][] {
  const columns = database.prepare(`SELECT name, type FROM pragma_table_info('${table}')`).all()
  return columns.flatMap(([name, type]): [string, Expected][] => {
    const column = name as string
    const own = expected[table]?.[column]
    return [
      ...(type === 'INTEGER' ? [[column, expectedNumber(column)] as [string, Expected]] : []),
      ...(own ? [[column, own] as [string, Expected]] : []),
    ]
  })
}

function quoted(words: readonly string[]): string {
  return words.map((word) => `'${word}'`).join(', ')
}
