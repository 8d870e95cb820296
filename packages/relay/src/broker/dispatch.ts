// Dispatches every call of every kind of connection: checks that the operation exists, that the session may ask it, and that the input fits the schema. Then
// the handler from the table in handlers.ts answers.

import {
  type Hello,
  isOperation,
  type OperationName,
  type OperationRule,
  type OutputOf,
  operations,
  type ParsedInputOf,
  type WatchName,
  type Welcome,
} from '@agent-relay/sdk/protocol'
import { RefusalError } from '../core/refusal-error.ts'
import type { Steps } from '../core/steps.ts'
import { digestToStore, inputDigest, type StoredDecision } from '../store/call-digest.ts'
import { openSession, refuseRevoked } from './admission.ts'
import {
  type CallAnswer,
  type CallContext,
  type DaemonInfo,
  isCallByHook,
  type SessionService,
  type Watch,
  type WatchItemSink,
} from './call.ts'
import { handlers, isWatch, isWorkspaceCall, type WorkspaceCall, watchHandlers } from './handlers.ts'
import { ReadTimeBudget } from './long-reads.ts'
import { parseInput } from './operation-input.ts'
import type { Neighbours } from './presence/other-workspaces.ts'
import { storeProvisionalNamesFor } from './presence/provisional-names.ts'
import type { Session } from './sessions/session.ts'
import { type Door, hasCredentialFor, hasRankFor, type SessionOrigin, type Standing } from './sessions/standing.ts'
import { assertMaySpawn } from './workers/spawning.ts'
import type { DaemonCallScope, Workspace } from './workspace.ts'

export class Dispatch implements DaemonCallScope {
  readonly workspace: Workspace
  readonly neighbours: Neighbours<Workspace>
  readonly daemon: DaemonInfo
  /** Calls under way, including those whose callers have left: the workspace must not be closed before they end. */
  pending = 0

  constructor(workspace: Workspace, neighbours: Neighbours<Workspace>, daemon: DaemonInfo) {
    this.workspace = workspace
    this.neighbours = neighbours
    this.daemon = daemon
  }

  /**
   * Opens a session for a HELLO (a client's first message), as the agent that the client may act as. If `origin` is only a door (the kind of port), the client
   * counts as a program.
   */
  openSession(origin: SessionOrigin | Door, hello: Hello): Promise<{ session: Session; welcome: Welcome }> {
    return openSession(this, typeof origin === 'string' ? { door: origin, kind: 'program' } : origin, hello)
  }

  /** Opens a session, and returns the service for its connection. */
  async serve(origin: SessionOrigin | Door, hello: Hello): Promise<SessionService> {
    const { session, welcome } = await this.openSession(origin, hello)
    return {
      welcome,
      call: (op, input, id, abandoned) => this.call(session, op, input, id, abandoned),
      watch: (op, input, sink) => this.watch(session, op, input, sink),
      markReceived: (handed) => this.markReceived(session, handed),
      leave: () => this.workspace.sessions.end(session),
      ended: session.ended,
    }
  }

  async call(session: Session, op: string, input: unknown, id: string, abandoned = session.ended): Promise<CallAnswer> {
    this.pending++
    try {
      const name = this.#admit(session, op)
      if (!isWorkspaceCall(name)) throw new RefusalError('operation.unknown', { operation: op })
      const parsed = parseInput(name, input)
      const settling = storeProvisionalNamesFor(this.workspace, session, name, parsed)
      if (settling) await settling
      // A model's messages are marked by `beginTurn`, once for all calls of a turn. A call by the CLI itself, such as a hook's, does not prove that the model
      // has read them.
      const settled =
        session.standing.kind === 'model' || isCallByHook(name, parsed) ? undefined : this.#markEarlierRead(session)
      const digest = (stored?: StoredDecision) =>
        stored ? digestToStore(name, input, stored) : inputDigest(name, input)
      const asking: CallContext = { session, by: session.agent ?? '', id, digest, abandoned }
      // A command is queued behind the command that marks messages as read, so it need not wait for it. A query reads the tables at once, so it waits.
      if (settled && operations[name].kind === 'query') await settled
      const output = await this.#runHandler(name, asking, parsed)
      return { output, handedMessages: asking.handedMessages }
    } catch (error) {
      throw withArchive(error, this.workspace)
    } finally {
      this.pending--
    }
  }

  /** Runs the operation's handler. A handler that may take long answers in steps, in turn with all other reads, until nobody waits for the answer any more. */
  #runHandler<O extends WorkspaceCall>(
    op: O,
    asking: CallContext,
    input: ParsedInputOf<O>,
  ): OutputOf<O> | Promise<OutputOf<O>> {
    const pace = new ReadTimeBudget()
    const answer = handlers[op](this, asking, input, pace)
    return isSteps(answer) ? this.workspace.reads.run(answer, pace, asking.abandoned) : answer
  }

  watch(session: Session, op: string, input: unknown, sink: WatchItemSink): Watch {
    const name = this.#admit(session, op)
    if (!isWatch(name)) throw new RefusalError('operation.unknown', { operation: op })
    return this.#startWatch(name, session, parseInput(name, input), sink)
  }

  #startWatch<O extends WatchName>(op: O, session: Session, input: ParsedInputOf<O>, sink: WatchItemSink): Watch {
    return watchHandlers[op](this, session, input, sink)
  }

  #admit(session: Session, op: string): OperationName {
    refuseRevoked(session)
    this.workspace.sessions.recordCall(session)
    if (!isOperation(op) || operations[op].who === 'owner')
      throw new RefusalError('operation.unknown', { operation: op })
    const { who } = operations[op] as OperationRule
    assertMayCall(this.workspace, session.standing, op)
    if (who === 'agent' && session.agent === undefined) throw new RefusalError('agent.required')
    if (!hasRankFor(session.standing, who))
      throw new RefusalError('auth.denied', { why: 'this needs the workspace key.' })
    return op
  }

  /** Begins a model's next turn: messages in its earlier answers count as read. If the turn is a repeat, its answer was lost, so nothing is marked. */
  async beginTurn(session: Session, id: string): Promise<void> {
    const { store } = this.workspace
    const isRepeat = session.agent !== undefined && store.recordedAnswer(session.agent, id) !== undefined
    if (!isRepeat) await this.#markEarlierRead(session)
  }

  /** Marks the messages of earlier answers as read, because the session makes another call. An answer that was sent does not prove it. */
  #markEarlierRead(session: Session): Promise<void> | undefined {
    const { engine, sessions } = this.workspace
    if (session.agent === undefined) return undefined
    const messages = sessions.takeReceivedMessages(session)
    if (messages.length === 0) return undefined
    return engine
      .submit({ rule: 'inbox.read', input: { messages }, by: session.agent, cause: this.workspace.ids('d') })
      .then((reply) => {
        if ('refusal' in reply) for (const message of messages) session.handedMessages.add(message)
      })
  }

  /** Records that the answer with these messages was sent. */
  markReceived(session: Session, handed: readonly string[] = []): void {
    for (const message of handed) session.handedMessages.add(message)
  }

  /** Releases the messages of an answer that was lost on its way, so that the next taker gets them. */
  async releaseLost(session: Session, handed: readonly string[] = []): Promise<void> {
    const { engine, ids } = this.workspace
    if (handed.length === 0 || session.agent === undefined) return
    const input = { messages: [...handed] }
    await engine.submit({ rule: 'inbox.let-go', input, by: session.agent, cause: ids('d'), session: session.id })
  }
}

/** Refuses an operation for which the session has shown too weak a credential over the network. */
export function assertMayCall({ store }: Workspace, standing: Standing, op: OperationName): void {
  const { network } = operations[op] as OperationRule
  if (network === 'spawn') assertMaySpawn(standing, store.view.policy())
  else if (!hasCredentialFor(standing, network)) throw new RefusalError('auth.denied', { why: whyNotAllowed(standing) })
}

function whyNotAllowed({ door }: Standing): string {
  if (door === 'lift') return "a lift's port serves its three tools and nothing else."
  if (door === 'open') return 'on an open port this needs the workspace key, or the local socket.'
  return 'over HTTP and WebSocket this needs the workspace key.'
}

function isSteps<T>(answer: T | Promise<T> | Steps<T>): answer is Steps<T> {
  return typeof (answer as Partial<Steps<T>>)?.next === 'function'
}

/** Adds to the refusal of an unknown message the archive file that has it, if the message was pruned. */
function withArchive(error: unknown, { store }: Workspace): unknown {
  if (!(error instanceof RefusalError) || error.refusal.code !== 'message.unknown') return error
  const { details } = error.refusal
  const archive = store.pruning.archiveOf(String(details.message))
  return archive === undefined ? error : new RefusalError('message.unknown', { ...details, archive })
}
