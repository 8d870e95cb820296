// The journal of one workspace in PostgreSQL: turns each call into a call of an SQL function, and the function's rows into the answer.

import { parseJson } from '@agent-relay/sdk/internal/parse-json'
import { limits } from '@agent-relay/sdk/protocol'
import type { EntryDraft } from '../../core/journal.ts'
import {
  type Append,
  type AppendResult,
  type ChangedKeys,
  type ClusterJournal,
  ClusterUnreachable,
  type FollowResult,
  type JournalPosition,
  pageEntriesMax,
  type SharedEntry,
  type StopReason,
} from '../cluster-journal.ts'
import { type Client, type Connection, LoginRefused, loginFaultReason } from './connection.ts'
import { draftTexts, fromStorableText, homesText } from './entry-text.ts'

/**
 * COMPAT(0.1): the form of the SQL functions that fetch and append entries. It is 2 in a database with an older schema. Both forms give the same answers.
 */
export type FunctionForm = 2 | 3

/** What the journals of all workspaces of a daemon share: the connections to the database. */
export interface JournalConnections {
  /** Connection for appends. */
  writer: Connection
  /** Connection for all other calls, so that fetching new entries does not wait for an append's lock. */
  reader: Connection
  /** How often this machine's daemon has started. Known once a connection is open. */
  readonly boot: number
  /** The newest form of the SQL functions (the number at the end of their names) that the database has. */
  readonly form: FunctionForm
  listen(workspace: string, listener: (head: number) => void): { stop(): void }
  readonly hasHints: boolean
}

/**
 * A row of an answer: kind, number, time, sender, cause, machine, mark, the other fields as JSON, and the conflict keys as JSON. Numbers are texts, because
 * the server's integers are longer than JavaScript's.
 */
type Row = [string, string | null, string | null, string, string, string, string, string, string | null]

export class PostgresJournal implements ClusterJournal {
  readonly #workspace: string
  readonly #connections: JournalConnections

  constructor(workspace: string, connections: JournalConnections) {
    this.#workspace = workspace
    this.#connections = connections
  }

  append(append: Append): Promise<AppendResult> {
    return this.#ask(this.#connections.writer, async (client) => appendedOf(await this.#append(client, append), append))
  }

  async appendInTurn(known: JournalPosition, decide: (missed: SharedEntry[]) => Append): Promise<AppendResult> {
    let failure: { error: unknown } | undefined
    const appended = await this.#ask(this.#connections.writer, async (client): Promise<AppendResult> => {
      const followed = followedOf(await this.#turn(client, known))
      let append: Append | undefined
      try {
        if (followed.kind === 'entries') append = decide(followed.entries)
      } catch (error) {
        failure = { error }
      }
      if (!append) {
        await client.query('ROLLBACK')
        return followed.kind === 'entries' ? { kind: 'behind', missed: [] } : followed
      }
      const [rows] = await Promise.all([this.#append(client, append), client.query('COMMIT')])
      return appendedOf(rows, append)
    })
    if (failure) throw failure.error
    return appended
  }

  follow({ seq, mark }: JournalPosition, limit: number): Promise<FollowResult> {
    return this.#ask(this.#connections.reader, async (client) => {
      const values = [this.#workspace, this.#connections.boot, seq, mark, Math.min(limit, pageEntriesMax)]
      return followedOf(await rowsOf(client, `follow_${this.#connections.form}`, values))
    })
  }

  async payload(seq: number): Promise<Uint8Array | undefined> {
    const asked = await this.#ask(this.#connections.reader, async (client) => {
      const text = 'SELECT relay.payload_1($1, $2)'
      const { rows } = await client.query({ name: 'payload_1', text, values: [this.#workspace, seq], rowMode: 'array' })
      return { kind: 'payload' as const, bytes: rows[0]?.[0] as Uint8Array | null | undefined }
    })
    if (asked.kind !== 'payload') throw new ClusterUnreachable('this machine was removed', true)
    return asked.bytes ?? undefined
  }

  onHint(listener: (head: number) => void): { stop(): void } {
    return this.#connections.listen(this.#workspace, listener)
  }

  get hasHints(): boolean {
    return this.#connections.hasHints
  }

  async #ask<T>(connection: Connection, question: (client: Client) => Promise<T>): Promise<T | StopReason> {
    try {
      return await connection.ask(question)
    } catch (error) {
      if (error instanceof LoginRefused) return { kind: 'revoked', ...loginFaultReason(error) }
      // P0002 is PostgreSQL's code for `SELECT … INTO STRICT` without a row: there is no such workspace.
      if ((error as { code?: string }).code === 'P0002') return { kind: 'removed' }
      throw error
    }
  }

  #append(client: Client, { position: { seq, mark }, reads, drafts }: Append): Promise<Row[]> {
    const values = [this.#workspace, this.#connections.boot, seq, mark, JSON.stringify(reads)]
    return rowsOf(client, `append_${this.#connections.form}`, [...values, homesText(drafts), ...draftTexts(drafts)])
  }

  /**
   * Begins the transaction in which only this machine can append. Its statements go out in one write, so that the lock is held for one round trip only. The
   * server ends a transaction that is silent for a second.
   */
  async #turn(client: Client, { seq, mark }: JournalPosition): Promise<Row[]> {
    try {
      const [, , rows] = await Promise.all([
        client.query('BEGIN'),
        client.query("SET LOCAL idle_in_transaction_session_timeout = '1s'"),
        rowsOf(client, `turn_${this.#connections.form}`, [this.#workspace, this.#connections.boot, seq, mark]),
      ])
      return rows
    } catch (error) {
      throw 'severity' in (error as object) ? error : new ClusterUnreachable((error as Error).message, true)
    }
  }
}

async function rowsOf(client: Client, name: string, values: unknown[]): Promise<Row[]> {
  const text = `SELECT * FROM relay.${name}(${values.map((_, i) => `$${i + 1}`).join(', ')})`
  const { rows } = await client.query({ name, text, values, rowMode: 'array' })
  return rows as unknown as Row[]
}

function appendedOf(rows: Row[], { drafts }: Append): AppendResult {
  const [[kind, head, , agent, , , stem, ats]] = rows as [Row]
  const stopped = stoppedOf(kind, Number(head))
  if (stopped) return stopped
  const missed = rows.slice(1).map(entryOf)
  if (kind === 'denied') return { kind, agent: fromStorableText(agent), missed }
  if (kind === 'behind') return { kind, missed }
  const times = drafts.length === 0 ? [] : ats.split(',')
  const numbered = times.map((at, i) => ({ seq: Number(head) + 1 + i, at: Number(at), mark: `${stem}.${i + 1}` }))
  return { kind: 'ok', numbered, missed }
}

function followedOf(rows: Row[]): FollowResult {
  const [[kind, head]] = rows as [Row]
  const stopped = stoppedOf(kind, Number(head))
  if (stopped) return stopped
  const entries = rows.slice(1).map(entryOf)
  const last = entries.at(-1)
  return { kind: 'entries', entries, ...(last && last.seq < Number(head) ? { isMore: true } : {}) }
}

function stoppedOf(kind: string, head: number): StopReason | undefined {
  if (kind === 'diverged') return { kind, head }
  return kind === 'revoked' || kind === 'fenced' ? { kind } : undefined
}

function entryOf([, seq, at, by, cause, machine, mark, entry, writes]: Row): SharedEntry {
  const head = { seq: Number(seq), at: Number(at), machine, mark }
  try {
    const named = { by: fromStorableText(by), cause: fromStorableText(cause), ...head }
    return { ...restOf(entry), ...named, ...(writes === null ? {} : { writes: keysIn(writes) }) }
  } catch {
    return { by, cause, rule: '', outcome: {}, facts: [], isBroken: true, ...head }
  }
}

/** Reads conflict keys from text. Any machine may have written the text; a text that is not a list of keys counts as an empty list. */
function keysIn(text: string): ChangedKeys {
  const found = parseJson(text)
  if (found === 'note') return found
  return Array.isArray(found) && found.every((key) => typeof key === 'string') ? found : []
}

/** The maximum depth of JSON in an entry. It is greater than for clients, because a client's data is a few levels deep in a fact. */
const entryDepthMax = limits.jsonDepthMax + 16

/** Reads an entry from its text. Any machine may have written anything there, because the database does not check the text. */
function restOf(text: string): Omit<EntryDraft, 'at' | 'by' | 'cause'> {
  const { facts, rule, digest, outcome, body } = parseJson(text, entryDepthMax) as EntryDraft
  const isFact = (fact: unknown) => typeof (fact as { type?: unknown } | null)?.type === 'string'
  const isText = (value: unknown) => value === undefined || typeof value === 'string'
  const isSound = Array.isArray(facts) && facts.every(isFact) && typeof rule === 'string' && isObject(outcome)
  if (!isSound || !isText(digest) || !isText(body)) throw new Error('this is not an entry')
  return { facts, rule, digest, outcome, body }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
