// A mirror in memory of the tables that are read most: all agents, and the conversations in use. Only fact-applier.ts changes it. A rollback undoes the changes
// of its transaction.

import { handleKey } from '../core/handles.ts'
import type { AgentRow, HomeRow } from '../core/view.ts'
import type { Database, Statement } from './database.ts'

/** An agent, with the key of its row in the database. */
export interface KnownAgent extends AgentRow {
  key: number
  isRetired?: boolean
}

export interface KnownConversation {
  key: number
  name: string
  /** The number of the conversation's last message. The row of the conversation does not have it, which saves each send one write. */
  lastN: number
  /** The number of the journal entry with the conversation's last message; 0 before the first message. */
  lastSeq: number
  /** Number of members. Unset until the members were counted. */
  members?: number
}

/** Maximum number of conversations in memory: at this number all are dropped. 20,000 pairs take about 4 MB. */
const conversationsMax = 20_000

const statements = {
  agents: 'SELECT key, name, id, type, cli, model, parent, handle, role, retired FROM agents ORDER BY key',
  byName: 'SELECT key, name FROM conversations WHERE name = ?',
  byKey: 'SELECT key, name FROM conversations WHERE key = ?',
  last: 'SELECT n, seq FROM messages WHERE conversation = ? ORDER BY n DESC LIMIT 1',
  homes: 'SELECT agent, machine, max(epoch) FROM homes GROUP BY agent',
  channels: "SELECT name FROM conversations WHERE name >= '#' AND name < '$' ORDER BY name",
}

export class TablesMirror {
  readonly agents = new Map<string, KnownAgent>()
  readonly agentsByKey = new Map<number, KnownAgent>()
  /** The last home machine of each agent's name. */
  readonly homes = new Map<string, HomeRow>()
  /** Agents by a map key made from their handle (a second name that an agent may have): handles that look alike have the same map key. */
  readonly #handles = new Map<string, KnownAgent>()
  /**
   * The names of all agents, retired or not, by a map key that names which look alike share. All of them are listed, so that a retired agent does not hide a
   * live one.
   */
  readonly #namesAlike = new Map<string, readonly string[]>()
  readonly #conversations = new Map<string, KnownConversation>()
  readonly #conversationsByKey = new Map<number, KnownConversation>()
  /** The names of all agents that are not retired. Unset until they are needed, since collecting ten thousand takes some milliseconds. */
  #names: readonly string[] | undefined
  /** The names of all channels. Unset until they are needed, since reading a thousand from the database takes a millisecond. */
  #channels: readonly string[] | undefined
  readonly #sql: Record<keyof typeof statements, Statement>
  /**
   * Whether the journal is being replayed. Conversations must not be loaded then: their last message number comes from the table `messages`, which has messages
   * that the replay has not reached.
   */
  isReplaying = false
  #isChanging = false
  /** Functions that undo the changes of the open transaction to agents. */
  readonly #undo: (() => void)[] = []
  /** Conversations that the open transaction has changed or loaded. A rollback drops them from memory: they are loaded again when they are needed. */
  readonly #changed = new Set<KnownConversation>()

  constructor(database: Database) {
    this.#sql = database.prepareAll(statements)
    this.reload()
  }

  reload(): void {
    for (const map of [this.agents, this.agentsByKey, this.homes, this.#handles, this.#namesAlike]) map.clear()
    this.#names = undefined
    this.#forgetConversations()
    for (const [agent, machine, epoch] of this.#sql.homes.all())
      this.homes.set(agent as string, { machine: machine as string, epoch: epoch as number })
    for (const [key, name, id, type, cli, model, parent, handle, role, retired] of this.#sql.agents.all()) {
      const known = withoutNulls({ key, name, id, type, cli, model, parent, handle, role })
      this.putAgent({ ...known, ...(retired === null ? {} : { isRetired: true }) } as unknown as KnownAgent)
    }
  }

  /** Begins a transaction. From here on changes are recorded, so that `undoChanges` can undo them. */
  begin(): void {
    this.#isChanging = true
  }

  /** Ends a transaction that was committed. */
  keepChanges(): void {
    this.#isChanging = false
    this.#undo.length = 0
    this.#changed.clear()
  }

  /** Ends a transaction that was rolled back: undoes its changes. */
  undoChanges(): void {
    for (const conversation of this.#changed) this.dropConversation(conversation)
    while (this.#undo.length > 0) this.#undo.pop()?.()
    this.#names = undefined
    this.keepChanges()
  }

  putAgent(agent: KnownAgent): void {
    const former = this.agents.get(agent.name)
    if (former?.isRetired !== agent.isRetired || !former) this.#names = undefined
    if (former?.handle !== undefined) this.#set(this.#handles, handleKey(former.handle), undefined)
    if (agent.handle !== undefined) this.#set(this.#handles, handleKey(agent.handle), agent)
    if (!former) this.#set(this.#namesAlike, handleKey(agent.name), [...this.#alike(agent.name), agent.name])
    this.#set(this.agents, agent.name, agent)
    this.#set(this.agentsByKey, agent.key, agent)
  }

  /** Renames an agent to a name that nobody can ask for, which makes its former name free. */
  renameAgent(agent: KnownAgent, name: string): void {
    this.#names = undefined
    this.#set(this.agents, agent.name, undefined)
    const others = this.#alike(agent.name).filter((other) => other !== agent.name)
    this.#set(this.#namesAlike, handleKey(agent.name), others.length > 0 ? others : undefined)
    this.putAgent({ ...agent, name })
  }

  putHome(name: string, home: HomeRow): void {
    this.#set(this.homes, name, home)
  }

  #alike(name: string): readonly string[] {
    return this.#namesAlike.get(handleKey(name)) ?? []
  }

  #set<K, V>(map: Map<K, V>, key: K, value: V | undefined): void {
    if (this.#isChanging) {
      const former = map.get(key)
      this.#undo.push(() => put(map, key, former))
    }
    put(map, key, value)
  }

  agentNames(): readonly string[] {
    this.#names ??= Object.freeze([...this.agentsByKey.values()].flatMap((each) => (each.isRetired ? [] : [each.name])))
    return this.#names
  }

  agentsNamedLike(text: string): KnownAgent[] {
    const alike = this.#alike(text).map((name) => this.agents.get(name))
    const all = new Set([this.agents.get(text), ...alike, this.#handles.get(handleKey(text))])
    return [...all].filter((agent) => agent !== undefined).filter(({ isRetired }) => !isRetired)
  }

  /** Adds a new conversation to the mirror in memory. */
  openConversation(conversation: KnownConversation): void {
    this.#channels = undefined
    this.#putConversation(conversation)
  }

  #putConversation(conversation: KnownConversation): void {
    if (this.#conversations.size >= conversationsMax && !this.isReplaying) this.#forgetConversations()
    if (this.#isChanging) this.#changed.add(conversation)
    this.#conversations.set(conversation.name, conversation)
    this.#conversationsByKey.set(conversation.key, conversation)
  }

  /** Drops a conversation from memory, without changing the database. It is loaded again when it is needed, under the name that it has then. */
  dropConversation({ name, key }: KnownConversation): void {
    this.#channels = undefined
    this.#conversations.delete(name)
    this.#conversationsByKey.delete(key)
  }

  conversation(name: string): KnownConversation | undefined {
    return this.#conversations.get(name) ?? this.#load(this.#sql.byName.get(name))
  }

  /** Returns a conversation that the caller will change. A rollback drops it from memory. */
  conversationToChange(name: string): KnownConversation | undefined {
    const conversation = this.conversation(name)
    if (conversation && this.#isChanging) this.#changed.add(conversation)
    return conversation
  }

  conversationOf(key: number): KnownConversation {
    const found = this.#conversationsByKey.get(key) ?? this.#load(this.#sql.byKey.get(key))
    if (!found) throw new Error(`no conversation has the key ${key}`)
    return found
  }

  channels(): readonly string[] {
    this.#channels ??= this.#sql.channels.all().map(([name]) => name as string)
    return this.#channels
  }

  #forgetConversations(): void {
    this.#channels = undefined
    this.#conversations.clear()
    this.#conversationsByKey.clear()
  }

  #load(row: unknown[] | undefined): KnownConversation | undefined {
    if (!row) return undefined
    const key = row[0] as number
    const [lastN, lastSeq] = (this.#sql.last.get(key) ?? [0, 0]) as [number, number]
    const conversation = { key, name: row[1] as string, lastN, lastSeq }
    this.#putConversation(conversation)
    return conversation
  }
}

function put<K, V>(map: Map<K, V>, key: K, value: V | undefined): void {
  if (value === undefined) map.delete(key)
  else map.set(key, value)
}

export function withoutNulls<T extends object>(row: T): { [K in keyof T]?: Exclude<T[K], null> } {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null && value !== undefined)) as never
}
