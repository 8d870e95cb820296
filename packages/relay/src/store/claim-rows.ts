// Reads and writes the rows of claims: each is a file that an agent edits, and other agents' edits of it are held off until a time. Rules and lists read them;
// facts write them.

import { limits } from '@agent-relay/sdk/protocol'
import { machineOf } from '../core/journal.ts'
import type { ClaimReader, ClaimRow, ClaimView } from '../core/view.ts'
import type { FactAppliers } from './appliers.ts'
import { type Database, type Row, readRow, type Statement } from './database.ts'

const names = ['path', 'machine', 'root', 'file', 'repository', 'agent', 'how', 'since', 'edited_at', 'until']
const columns = names.map((name) => `c.${name}`).join(', ')
/** Selects claims by a list of paths, one path after the other: with IN, SQLite would sort the list of paths first. */
const among = 'FROM json_each(?1) j CROSS JOIN claims c ON c.path = j.value AND c.machine = ?2'
const others = `${among} WHERE c.agent <> ?3 AND c.until > ?4 AND c.until <= ?5`
/** Maximum number of claims that the text of a denied edit lists. */
const firstMax = 20

const statements = {
  at: `SELECT ${columns} FROM claims c WHERE path = ? AND machine = ?`,
  inCheckout: `SELECT ${columns} FROM claims c WHERE root = ? ORDER BY agent, file`,
  // Returns all rows as one JSON text: reading a thousand rows of ten values one by one takes three times as long.
  among: `SELECT json_group_array(json_array(${columns})) ${among}`,
  countOthers: `SELECT count(*) ${others}`,
  firstOthers: `SELECT ${columns} ${others} LIMIT ${firstMax}`,
  ofFiles: `SELECT ${columns} FROM claims c WHERE file IN (SELECT value FROM json_each(?)) AND repository = ?`,
  // Selects the files below a directory: in ASCII '0' is the next character after '/', so the range holds each path that begins with the directory and '/'.
  below: `SELECT ${columns} FROM claims c WHERE path >= ?1 || '/' AND path < ?1 || '0' AND machine = ?2`,
  of: `SELECT ${columns} FROM claims c WHERE agent = ? ORDER BY path`,
  count: 'SELECT count(*) FROM claims WHERE until > ? AND until <= ?',
  countOf: 'SELECT count(*) FROM claims WHERE agent = ? AND until > ? AND until <= ?',
  all: `SELECT ${columns} FROM claims c WHERE until > ? ORDER BY agent, root, file`,
  holders: `SELECT DISTINCT agent FROM claims WHERE until > ? AND how = 'edit'`,
}

export class ClaimRows implements ClaimView {
  readonly #sql: Record<keyof typeof statements, Statement>

  constructor(database: Database) {
    this.#sql = database.prepareWhenUsed(statements)
  }

  at(path: string, machine = ''): ClaimRow | undefined {
    return readRow(this.#sql.at.get(path, machine), claimOf)
  }

  inCheckout(root: string): ClaimRow[] {
    return this.#sql.inCheckout.all(root).map(claimOf)
  }

  onPaths(paths: readonly string[], machine = ''): ClaimRow[] {
    if (paths.length === 0) return []
    const text = this.#sql.among.get(JSON.stringify(paths), machine)?.[0] as string
    return (JSON.parse(text) as Row[]).map(claimOf)
  }

  othersOnPaths(
    paths: readonly string[],
    { agent, machine = '', at }: ClaimReader,
  ): { first: ClaimRow[]; count: number } {
    if (paths.length === 0) return { first: [], count: 0 }
    const asked = [JSON.stringify(paths), machine, agent, at, at + limits.claimMs]
    const count = this.#sql.countOthers.get(...asked)?.[0] as number
    return { first: count === 0 ? [] : this.#sql.firstOthers.all(...asked).map(claimOf), count }
  }

  below(directory: string, machine = ''): ClaimRow[] {
    return this.#sql.below.all(directory === '/' ? '' : directory, machine).map(claimOf)
  }

  ofFiles(repository: string, files: readonly string[]): ClaimRow[] {
    return this.#sql.ofFiles.all(JSON.stringify(files), repository).map(claimOf)
  }

  of(agent: string): ClaimRow[] {
    return this.#sql.of.all(agent).map(claimOf)
  }

  count(at: number): number {
    return this.#sql.count.get(at, at + limits.claimMs)?.[0] as number
  }

  countOf(agent: string, at: number): number {
    return this.#sql.countOf.get(agent, at, at + limits.claimMs)?.[0] as number
  }

  /** Returns all claims that have not expired, ordered by agent. */
  all(at: number): ClaimRow[] {
    return this.#sql.all.all(at).map(claimOf)
  }

  /** Returns the agents that have an unexpired claim because they edited the file. Claims that were made by hand do not count. */
  holders(at: number): string[] {
    return this.#sql.holders.all(at).map(([agent]) => agent as string)
  }
}

function claimOf(row: Row): ClaimRow {
  const [path, machine, root, file, repository, agent, how, since, editedAt, until] = row
  const claim = { path, root, file, repository, agent, how, since, editedAt, until } as ClaimRow
  if (machine !== '') claim.machine = machine as string
  return claim
}

const writes = {
  claimsOver: 'DELETE FROM claims WHERE until <= ?',
  claimed: 'INSERT OR REPLACE INTO claims VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9)',
  claimRenewed: 'UPDATE claims SET edited_at = ?, until = ? WHERE path = ? AND machine = ?',
  claimEnded: 'DELETE FROM claims WHERE path = ? AND machine = ?',
}

export function claimAppliers(database: Database): FactAppliers<`claim.${string}`> {
  const sql = database.prepareWhenUsed(writes)
  return {
    'claim.made': (fact, entry) => {
      const { path, root, file, repository, agent, how, until } = fact
      sql.claimsOver.run(entry.at)
      sql.claimed.run(path, machineOf(fact, entry) ?? '', root, file, repository, agent, how, entry.at, until)
    },
    // The entry of a renewal may be later than the edit that caused it, so the edit's time is computed from `until`.
    'claim.renewed': ({ path, machine = '', until }) =>
      sql.claimRenewed.run(until - limits.claimMs, until, path, machine),
    'claim.ended': ({ path, machine = '' }) => sql.claimEnded.run(path, machine),
    'claim.denied': () => {},
    'claim.passed': () => {},
  }
}
