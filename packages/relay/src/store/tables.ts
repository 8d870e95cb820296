// The small, hot part of the tables, mirrored in memory: agents whole, conversations as they are used. Changed by evolve alone.

import type { AgentRow } from '../core/view.ts'
import type { Database, Statement } from './database.ts'

/** An agent with its key in the database. */
export interface AgentEntry extends AgentRow {
  key: number
}

export interface ConversationEntry {
  key: number
  name: string
  /** The number of its last message. Not a column: one write less for every send. */
  lastN: number
}

/** Conversations kept in memory; beyond it the mirror starts afresh. 20,000 pairs are about 4 MB. */
const conversationsMax = 20_000

const statements = {
  agents: 'SELECT key, name, id, type, cli, model, parent, handle, role FROM agents ORDER BY key',
  byName: 'SELECT key, name FROM conversations WHERE name = ?',
  byKey: 'SELECT key, name FROM conversations WHERE key = ?',
  last: 'SELECT max(n) FROM messages WHERE conversation = ?',
  channels: "SELECT name FROM conversations WHERE name >= '#' AND name < '$' ORDER BY name",
}

export class Tables {
  readonly agents = new Map<string, AgentEntry>()
  readonly agentsByKey = new Map<number, AgentEntry>()
  readonly handles = new Map<string, AgentEntry>()
  readonly #conversations = new Map<string, ConversationEntry>()
  readonly #conversationsByKey = new Map<number, ConversationEntry>()
  readonly #sql: Record<keyof typeof statements, Statement>
  /** Then nothing may be loaded anew: the highest number in `messages` would be one that is still to come. */
  isReplaying = false

  constructor(database: Database) {
    this.#sql = database.prepareAll(statements)
    this.reload()
  }

  /** After a rollback the mirror may be ahead of the tables. */
  reload(): void {
    for (const map of [this.agents, this.agentsByKey, this.handles, this.#conversations, this.#conversationsByKey])
      map.clear()
    for (const [key, name, id, type, cli, model, parent, handle, role] of this.#sql.agents.all()) {
      this.putAgent(withoutNulls({ key, name, id, type, cli, model, parent, handle, role }) as unknown as AgentEntry)
    }
  }

  putAgent(agent: AgentEntry): void {
    const former = this.agents.get(agent.name)
    if (former?.handle !== undefined) this.handles.delete(former.handle)
    if (agent.handle !== undefined) this.handles.set(agent.handle, agent)
    this.agents.set(agent.name, agent)
    this.agentsByKey.set(agent.key, agent)
  }

  putConversation(conversation: ConversationEntry): void {
    if (this.#conversations.size >= conversationsMax && !this.isReplaying) {
      this.#conversations.clear()
      this.#conversationsByKey.clear()
    }
    this.#conversations.set(conversation.name, conversation)
    this.#conversationsByKey.set(conversation.key, conversation)
  }

  conversation(name: string): ConversationEntry | undefined {
    return this.#conversations.get(name) ?? this.#load(this.#sql.byName.get(name))
  }

  conversationOf(key: number): ConversationEntry {
    const found = this.#conversationsByKey.get(key) ?? this.#load(this.#sql.byKey.get(key))
    if (!found) throw new Error(`no conversation has the key ${key}`)
    return found
  }

  channels(): string[] {
    return this.#sql.channels.all().map(([name]) => name as string)
  }

  #load(row: unknown[] | undefined): ConversationEntry | undefined {
    if (!row) return undefined
    const key = row[0] as number
    const conversation = { key, name: row[1] as string, lastN: Number(this.#sql.last.get(key)?.[0] ?? 0) }
    this.putConversation(conversation)
    return conversation
  }
}

export function withoutNulls<T extends object>(row: T): { [K in keyof T]?: Exclude<T[K], null> } {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null && value !== undefined)) as never
}
