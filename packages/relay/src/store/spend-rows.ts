// Reads and writes the rows of spend (tokens and cost of models): one row is what an agent has used of one model on one day, as one worker or in one run.

import type { Spend, SpendLine } from '@agent-relay/sdk/protocol'
import { usdPartsPerDollar } from '../core/spend.ts'
import type { Steps } from '../core/steps.ts'
import type { FactAppliers } from './appliers.ts'
import { type Database, pagesOf, type Row, type Statement } from './database.ts'

const counts = 'input, output, cached, usd_parts, turns'
const sums = 'sum(input), sum(output), sum(cached), sum(usd_parts), sum(turns)'

const statements = {
  ofAgent: `SELECT ${sums} FROM spend WHERE agent = ?`,
  ofRun: `SELECT ${sums} FROM spend WHERE run = ?1 AND run <> ''`,
  ofWorker: `SELECT ${sums} FROM spend WHERE worker = ?1 AND worker <> ''`,
  // Reads rows in the order of the primary key, so that the next page can continue after the last row of this one.
  page: `SELECT ${counts}, agent, worker, run, model, day FROM spend
    WHERE (agent, worker, run, model, day) > (?, ?, ?, ?, ?) ORDER BY agent, worker, run, model, day LIMIT (? + 0)`,
}

const spendRowsPerStep = 256

export type SpendRow = Pick<SpendLine, 'run' | 'model'> & { agent: string; day: string } & Counts

interface Counts extends Spend {
  turns: number
}

export class SpendRows {
  readonly #sql: Record<keyof typeof statements, Statement>

  constructor(database: Database) {
    this.#sql = database.prepareWhenUsed(statements)
  }

  /** Returns the tokens and cost of an agent; undefined if none are known. */
  ofAgent(agent: string): Spend | undefined {
    return spendOf(this.#sql.ofAgent.get(agent))
  }

  ofRun(run: string): Spend | undefined {
    return spendOf(this.#sql.ofRun.get(run))
  }

  ofWorker(worker: string): Spend | undefined {
    return spendOf(this.#sql.ofWorker.get(worker))
  }

  /** Reads all rows of tokens and cost, in steps. */
  *forEachRow(each: (row: SpendRow) => void): Steps<void> {
    const read = (last?: Row) => this.#sql.page.all(...(last?.slice(5) ?? ['', '', '', '', '']), spendRowsPerStep)
    for (const rows of pagesOf(spendRowsPerStep, read)) {
      for (const row of rows) each(rowOf(row))
      yield
    }
  }
}

function spendOf(row: Row | undefined): Spend | undefined {
  if (!row || row[0] === null) return undefined
  const { turns: _, ...spend } = countsOf(row)
  return spend
}

function countsOf(row: Row): Counts {
  const [input, output, cached, parts, turns] = row as [number, number, number, number | null, number]
  const counts = { tokens: { input, output, cached }, turns }
  return parts === null ? counts : { ...counts, usd: parts / usdPartsPerDollar }
}

function rowOf(row: Row): SpendRow {
  const [agent, , run, model, day] = row.slice(5) as [string, string, string, string, string]
  return { ...countsOf(row), agent, day, ...(run === '' ? {} : { run }), ...(model === '' ? {} : { model }) }
}

const writes = {
  spent: `INSERT INTO spend (agent, worker, run, model, day, turns, input, output, cached, usd_parts) VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET turns = turns + 1, input = input + excluded.input, output = output + excluded.output, cached = cached + excluded.cached,
      usd_parts = coalesce(usd_parts + excluded.usd_parts, usd_parts, excluded.usd_parts)`,
}

export function spendAppliers(database: Database): FactAppliers<`spend.${string}`> {
  const sql = database.prepareWhenUsed(writes)
  return {
    'spend.noted': ({ agent, worker = '', run = '', model = '', tokens, usd }, { at }) => {
      const day = new Date(at).toISOString().slice(0, 10)
      const parts = usd === undefined ? null : Math.round(usd * usdPartsPerDollar)
      sql.spent.run(agent, worker, run, model, day, tokens.input, tokens.output, tokens.cached, parts)
    },
  }
}
