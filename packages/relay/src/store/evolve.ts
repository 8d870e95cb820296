// Applies facts to the tables. Every row that is made from facts is written here, except those of `concerns` (see concerns.ts). Whether a fact is
// allowed is not asked here: the rule has decided.

import { type Entry, type Fact, limits, toolNameOf } from '@agent-relay/sdk/protocol'
import { type JournalEntry, machineOf, type Origin } from '../core/journal.ts'
import { usdParts } from '../core/spend.ts'
import type { AgentRow } from '../core/view.ts'
import { backupMachine } from '../core/world.ts'
import { approvalValues } from './approval-rows.ts'
import { Concerns } from './concerns.ts'
import type { Database, Statement } from './database.ts'
import { rareStatements, statements } from './evolve-statements.ts'
import { derivedTables } from './migrations.ts'
import { NotedReceipts } from './noted-receipts.ts'
import type { KnownAgent, KnownConversation, Tables } from './tables.ts'

/** Every 64th message of a sender moves its own cursor: one write in 64 sends, and never more than 64 own messages to pass over. */
const ownStride = 64

/** An entry to apply, or its facts alone where the journal is replayed: its body and payload are stored already then. */
type Applied = Entry & Pick<JournalEntry, 'body' | 'payload'> & Partial<Origin>

type Appliers = { [T in Fact['type']]: (fact: Extract<Fact, { type: T }>, entry: Applied) => void }

export class Evolve {
  readonly #database: Database
  readonly #tables: Tables
  readonly #concerns: Concerns
  readonly #noted: NotedReceipts
  readonly #sql: Record<keyof typeof statements | keyof typeof rareStatements, Statement>
  readonly #offered: Statement
  /** Stays whose cursor may move once all facts of the entry are applied. */
  readonly #touched = new Map<string, [KnownAgent, KnownConversation]>()

  /** `machine`: this machine, where the workspace is shared with others. */
  constructor(database: Database, tables: Tables, machine?: string) {
    this.#database = database
    this.#tables = tables
    this.#concerns = new Concerns(database, (name) => tables.agents.get(name)?.key)
    this.#noted = new NotedReceipts(database, tables, machine)
    this.#sql = { ...database.prepareAll(statements), ...database.prepareWhenUsed(rareStatements) }
    this.#offered = machine === undefined ? this.#sql.offered : this.#sql.offeredAtHome
  }

  apply(entry: Applied): void {
    this.applyLocal(entry)
    this.#concerns.write(entry)
  }

  /** Applies an entry of this machine alone: it concerns readers of events only once its note comes back. */
  applyLocal(entry: Applied): void {
    // An entry that was rolled back may have left stays here, with numbers that never came to be.
    this.#touched.clear()
    for (const fact of entry.facts) (this.#appliers[fact.type] as (f: Fact, e: Applied) => void)(fact, entry)
    if (this.#touched.size > 0) this.#moveCursors()
  }

  #moveCursors(): void {
    for (const [agent, conversation] of this.#touched.values()) {
      this.#sql.advance.run(conversation.lastN, agent.name, agent.key, conversation.key)
    }
    this.#touched.clear()
  }

  #touch(agent: KnownAgent, conversation: KnownConversation): void {
    this.#touched.set(`${agent.key}/${conversation.key}`, [agent, conversation])
  }

  /** Deletes all tokens, also those of agents that no entry tells of. */
  forgetTokens(): void {
    this.#sql.tokensForgotten.run()
  }

  /** Empties the tables before the journal is replayed from its beginning. */
  forgetAll(): void {
    for (const table of derivedTables) this.#database.exec(`DELETE FROM ${table}`)
    this.#tables.reload()
  }

  readonly #appliers: Appliers = {
    'workspace.began': ({ id }) => this.#sql.meta.run('id', id),
    'workspace.key-issued': ({ hash }) => this.#sql.meta.run('key', hash),
    'workspace.restored': () => {
      this.#sql.workersRestored.run(backupMachine)
      this.#sql.runsRestored.run(backupMachine)
    },
    'workspace.policy-set': ({ policy }) => this.#sql.meta.run('policy', JSON.stringify(policy)),
    'workspace.raised': ({ format }) => this.#sql.meta.run('format', `${format}`),
    'workspace.owned': ({ machine }) => this.#sql.meta.run('owner', machine),
    'machine.revoked': ({ machine }) => this.#sql.meta.run(`revoked ${machine}`, ''),
    'machine.admitted': ({ machine }) => this.#sql.metaGone.run(`revoked ${machine}`),
    'agent.registered': ({ id, agent }) => {
      // The key is the same on every machine, because every machine applies all entries in order.
      const key = this.#tables.agents.size + 1
      const known: KnownAgent = { ...agent, id, type: agent.type as AgentRow['type'], key }
      this.#sql.agent.run(key, known.name, id, known.type, ...this.#optional(known))
      this.#tables.putAgent(known)
    },
    'agent.updated': ({ agent }) => {
      const former = this.#agent(agent.name)
      const known: KnownAgent = { ...agent, id: former.id, type: former.type, key: former.key }
      this.#sql.agentUpdate.run(...this.#optional(known), known.key)
      this.#tables.putAgent(known)
    },
    'agent.token-issued': ({ agent, hash, until = null }, { seq }) => {
      const { key } = this.#agent(agent)
      this.#sql.token.run(hash, key, seq, until)
      this.#sql.tokenPrune.run(key, until)
    },
    'agent.tokens-revoked': ({ agent }) => this.#sql.tokensRevoked.run(this.#agent(agent).key),
    'agent.retired': ({ agent, isFree }) => {
      const { handle, ...known } = this.#agent(agent)
      // The row of a retired agent stays, or its key would be given to the next agent. Nobody can ask for a name with `~`.
      const name = isFree ? `${agent}~${known.key}` : agent
      this.#sql.retired.run(name, known.key)
      this.#tables.putAgent({ ...known, isRetired: true })
      if (isFree) this.#tables.renameAgent(this.#agent(agent), name)
    },
    // A brief changes no table.
    'agent.briefed': () => {},
    'agent.homed': ({ agent, machine, epoch }) => {
      this.#sql.home.run(agent, epoch, machine)
      this.#tables.putHome(agent, { machine, epoch })
    },
    'deliveries.noted': (fact) => {
      const reader = this.#agent(fact.agent)
      for (const message of this.#noted.apply(fact, reader)) {
        const place = this.#place(message)
        if (place) this.#touch(reader, place.conversation)
      }
    },
    'channel.created': ({ channel }) => void this.#open(channel),
    'channel.joined': ({ channel, agent, n }) => this.#enter(agent, this.#conversation(channel), n),
    'channel.left': ({ channel, agent, n }) => {
      const conversation = this.#conversation(channel)
      conversation.members = undefined
      this.#sql.left.run(n, this.#agent(agent).key, conversation.key)
    },
    'channel.removed': ({ channel }) => {
      const conversation = this.#conversation(channel)
      this.#sql.removed.run(conversation.key)
      this.#sql.staysRemoved.run(conversation.key)
      this.#tables.dropConversation(conversation)
    },
    'conversation.opened': ({ conversation, members }) => {
      const opened = this.#open(conversation)
      // A sender from another workspace is named in the conversation but has no inbox here.
      for (const name of members) if (this.#tables.agents.has(name)) this.#enter(name, opened, 0)
    },
    'message.created': (fact, { seq, at, body }) => {
      const conversation = this.#conversation(fact.conversation)
      const { id, n, from, kind, thread = null, replyTo = null } = fact
      if (!this.#tables.isReplaying)
        this.#sql.message.run(seq, id, at, conversation.key, n, from, kind, thread, replyTo, body as string)
      conversation.lastN = n
      conversation.lastSeq = seq
      const sender = n % ownStride === 0 ? this.#tables.agents.get(from) : undefined
      if (sender) this.#touch(sender, conversation)
    },
    'delivery.offered': ({ message, agent, route, session = null, until = null }, { at }) => {
      this.#offered.run(this.#agent(agent).key, at, route, session, until, message)
    },
    'delivery.held': ({ message, agent, session = null, until }) =>
      this.#sql.held.run(this.#agent(agent).key, session, until, message),
    'delivery.released': ({ message, agent }) => this.#sql.released.run(this.#agent(agent).key, message),
    'delivery.read': ({ message, agent }, { at }) => {
      const place = this.#place(message)
      const reader = this.#agent(agent)
      if (!place) return
      this.#sql.read.run(place.seq, reader.key, at)
      this.#touch(reader, place.conversation)
    },
    'action.registered': (fact, entry) => {
      const { name, provider, session, description, inputSchema, outputSchema, availableTo, timeoutMs } = fact
      const optional = [outputSchema, availableTo].map((value) => (value === undefined ? null : JSON.stringify(value)))
      const [output = null, available = null] = optional
      const schemas = [JSON.stringify(inputSchema), output, available]
      const place = [timeoutMs, machineOf(fact, entry), fact.authority ?? null]
      this.#sql.action.run(name, toolNameOf(name), provider, session, description, ...schemas, ...place)
    },
    'action.withdrawn': ({ name }) => this.#sql.withdrawn.run(name),
    'action.invoked': (fact, { seq, at, body }) => {
      const { id, action, caller, provider = null, session = null, until, machine = null } = fact
      this.#keepBody(seq, body)
      this.#sql.invoked.run(id, action, caller, provider, session, at, until, machine, seq)
    },
    'action.completed': ({ id, ok, code = null, message = null, durationMs }, { seq, facts, body }) => {
      // In the entry of a call that could not begin, the body is the call's input.
      const isOwnBody = !facts.some(({ type }) => type === 'action.invoked')
      if (ok && isOwnBody) this.#keepBody(seq, body)
      this.#sql.completed.run(ok ? 1 : 0, code, message, ok ? seq : null, durationMs, id)
    },
    'worker.wished': (fact, entry) => {
      const { seq, at, body } = entry
      const { id, worker, parent, cli, command, args, model = null, cwd, isInjected, worktree } = fact
      const { control = null, asked, again = null } = fact
      this.#keepBody(seq, body)
      const json = (value: unknown) => (value === undefined ? null : JSON.stringify(value))
      const place = [cwd, isInjected ? 1 : 0, machineOf(fact, entry), json(worktree)]
      const how = [control, json(asked), again]
      this.#sql.worker.run(id, worker, parent, cli, json(command), json(args), model, ...place, ...how, at, at, seq)
    },
    'worker.wish-changed': ({ id, wish }, { by }) => this.#sql.workerWish.run(wish, by, id),
    'worker.changed': ({ id, status, pid = null, code = null, reason = null, control = null }, { seq, at, body }) => {
      this.#keepBody(seq, body)
      this.#sql.workerChanged.run(status, pid, code, reason, control, at, status === 'exited' ? seq : null, id)
    },
    'worker.worktree-removed': ({ id }) => this.#sql.worktreeRemoved.run(id),
    'run.started': (fact, entry) => {
      const { seq, at, body } = entry
      const { id, agent, parent, harness, model = null, cwd = null, worktree, again = null } = fact
      this.#keepBody(seq, body)
      const place = [cwd, machineOf(fact, entry), worktree === undefined ? null : Number(worktree)]
      this.#sql.runStarted.run(id, agent, parent, harness, model, ...place, again, at, seq)
    },
    'run.completed': ({ id, summary, payloadBytes = null }, { seq, at, payload }) => {
      if (payload !== undefined) this.#sql.payload.run(seq, payload)
      this.#sql.runCompleted.run(at, summary, payloadBytes, payloadBytes === null ? null : seq, id)
    },
    'run.stopped': ({ id, reason = null }, { at }) => this.#sql.runStopped.run(at, reason, id),
    'claim.made': (fact, entry) => {
      const { path, root, file, repository, agent, how, until } = fact
      this.#sql.claimsOver.run(entry.at)
      this.#sql.claimed.run(path, machineOf(fact, entry) ?? '', root, file, repository, agent, how, entry.at, until)
    },
    // A renewal may be stored a while after the edit: the edit's time follows from `until`.
    'claim.renewed': ({ path, machine = '', until }) =>
      this.#sql.claimRenewed.run(until - limits.claimMs, until, path, machine),
    'claim.ended': ({ path, machine = '' }) => this.#sql.claimEnded.run(path, machine),
    'claim.denied': () => {},
    'claim.passed': () => {},
    'approval.opened': (fact, entry) => {
      // The body belongs to this fact only if its input was cut. A replay has no bodies, and finds it in its row.
      const whole = fact.hiddenChars === undefined ? null : entry.seq
      if (whole !== null) this.#keepBody(whole, entry.body)
      this.#sql.approval.run(...approvalValues(fact, { machine: machineOf(fact, entry), at: entry.at, whole }))
    },
    'approval.closed': ({ id, how, kind = null, asker, choice, words, answers }, { at, by }) => {
      const given = choice === undefined ? null : JSON.stringify({ choice, words, answers })
      this.#sql.approvalClosed.run(at, how, kind, asker ?? by, given, id)
    },
    'need.dismissed': ({ agent, key, through }) => this.#sql.dismissed.run(agent, key, through),
    'notice.asked': ({ asker, agent, when, message = '', after }, { at }) =>
      this.#sql.noticeAsked.run(asker, agent, when, message, after, at),
    'notice.ended': ({ asker, agent, when, message = '' }) => this.#sql.noticeEnded.run(asker, agent, when, message),
    'spend.noted': ({ agent, worker = '', run = '', model = '', tokens, usd }, { at }) => {
      const day = new Date(at).toISOString().slice(0, 10)
      const parts = usd === undefined ? null : Math.round(usd * usdParts)
      this.#sql.spent.run(agent, worker, run, model, day, tokens.input, tokens.output, tokens.cached, parts)
    },
    'reaction.added': ({ message, agent, emoji }, { seq, at }) => {
      const place = this.#place(message)
      if (place) this.#sql.reacted.run(place.seq, agent, emoji, at, seq)
    },
    'reaction.removed': ({ message, agent, emoji }) => {
      const place = this.#place(message)
      if (place) this.#sql.unreacted.run(place.seq, agent, emoji)
    },
  }

  #optional({ cli, model, parent, handle, role }: KnownAgent) {
    return [cli ?? null, model ?? null, parent ?? null, handle ?? null, role ?? null] as const
  }

  /** Stores a body that is not a message's. */
  #keepBody(seq: number, body: string | undefined): void {
    if (body !== undefined) this.#sql.body.run(seq, body)
  }

  #open(name: string): KnownConversation {
    const key = this.#sql.conversation.get(name)?.[0] as number
    const conversation = { key, name, lastN: 0, lastSeq: 0 }
    this.#tables.openConversation(conversation)
    return conversation
  }

  #enter(agent: string, conversation: KnownConversation, n: number): void {
    const { key } = this.#agent(agent)
    conversation.members = undefined
    this.#sql.stay.run(key, conversation.key, n)
    this.#sql.restay.run(key, conversation.key, n)
  }

  #agent(name: string): KnownAgent {
    const agent = this.#tables.agents.get(name)
    if (!agent) throw new Error(`a fact names the agent ${name}, who was never registered`)
    return agent
  }

  #conversation(name: string): KnownConversation {
    const conversation = this.#tables.changing(name)
    if (!conversation) throw new Error(`a fact names the conversation ${name}, which was never opened`)
    return conversation
  }

  /** The place of a message. Undefined if the message was pruned: later facts about it change nothing. */
  #place(message: string): { seq: number; conversation: KnownConversation } | undefined {
    const row = this.#sql.placeOf.get(message)
    if (!row) return undefined
    return { seq: row[0] as number, conversation: this.#tables.conversationOf(row[1] as number) }
  }
}
