// Every call of every wire comes through here: is the operation known, may this session ask it, is the input sound; then who answers it.

import {
  type CallName,
  daemonName,
  type Hello,
  isOperation,
  type OperationName,
  type OutputOf,
  operations,
  type ParsedInputOf,
  type Welcome,
} from '@agent-relay/sdk/protocol'
import type { z } from 'zod'
import { RefusalError } from '../refusal-error.ts'
import type { Neighbours } from './addresses.ts'
import { authenticate, refuseRevoked, register } from './admission.ts'
import { ask } from './asking.ts'
import type { Answer, Asking } from './call.ts'
import { send } from './sending.ts'
import type { Door, Session } from './sessions.ts'
import type { Sink, Watch } from './sink.ts'
import type { DaemonInfo, Surroundings } from './surroundings.ts'
import { take } from './taking.ts'
import type { Workspace } from './workspace.ts'

export class Dispatch implements Surroundings {
  readonly workspace: Workspace
  readonly neighbours: Neighbours
  readonly daemon: DaemonInfo

  constructor(workspace: Workspace, neighbours: Neighbours, daemon: DaemonInfo) {
    this.workspace = workspace
    this.neighbours = neighbours
    this.daemon = daemon
  }

  /** Opens a session for whoever says HELLO, acting as the agent it may act as. */
  async hello(door: Door, hello: Hello, isModel = false): Promise<{ session: Session; welcome: Welcome }> {
    const { workspace } = this
    const keyHash = hello.key === undefined ? undefined : authenticate(workspace, hello.key)
    const session = workspace.sessions.open(door, { keyHash, isModel, resume: hello.session, unanswered: hello.calls })
    try {
      const registered =
        hello.name === undefined && hello.token === undefined ? undefined : await this.#introduce(session, hello)
      const welcome: Welcome = {
        session: session.id,
        workspace: workspace.name,
        workspaceId: workspace.id,
        version: this.daemon.version,
        agent: registered?.agent,
        token: registered?.token,
        seq: workspace.store.journal.lastSeq,
      }
      return { session, welcome }
    } catch (error) {
      workspace.sessions.end(session)
      throw error
    }
  }

  async #introduce(session: Session, hello: Hello): Promise<OutputOf<'agent.register'>> {
    const { key: _, session: __, ...profile } = hello
    const name = hello.name ?? this.workspace.agentOfToken(hello.token as string)
    if (name === undefined) throw new RefusalError('auth.denied', { why: 'the token is not known here.' })
    const input = parse('agent.register', { ...profile, name })
    return register(this.workspace, session, input)
  }

  async call(session: Session, op: string, input: unknown, id: string, abandoned = session.ended): Promise<Answer> {
    const name = this.#admit(session, op)
    if (operations[name].kind === 'watch') throw new RefusalError('operation.unknown', { operation: op })
    const parsed = parse(name as CallName, input)
    // A model's calls are grouped into turns, and its turns come back by `comeBack`.
    const settled = session.isModel ? undefined : this.#settle(session)
    const asking: Asking = { session, by: session.agent ?? '', id, abandoned }
    // A command is queued behind the settling and needs not wait for it; a query reads the tables and does.
    if (settled && operations[name].kind === 'query') await settled
    return this.#answer(name as CallName, asking, parsed as never)
  }

  watch(session: Session, op: string, input: unknown, sink: Sink): Watch {
    const name = this.#admit(session, op)
    const { workspace } = this
    if (name === 'inbox.follow') return workspace.deliveries.follow(session, sink)
    if (name === 'action.follow') return workspace.actions.follow(session, sink)
    if (name !== 'event.follow') throw new RefusalError('operation.unknown', { operation: op })
    const { since, types } = parse('event.follow', input)
    return workspace.events.follow(session, since ?? workspace.store.journal.lastSeq, types, sink)
  }

  #admit(session: Session, op: string): OperationName {
    refuseRevoked(session)
    this.workspace.sessions.touch(session)
    if (!isOperation(op) || operations[op].who === 'owner')
      throw new RefusalError('operation.unknown', { operation: op })
    const { who } = operations[op] as { who: string }
    if (who === 'agent' && session.agent === undefined) throw new RefusalError('agent.required')
    if (who === 'holder' && !session.isHolder)
      throw new RefusalError('auth.denied', { why: 'this needs the workspace key.' })
    return op
  }

  /** A model's next turn: what its earlier answers handed out is read. Not for a turn that is asked again: its answer was lost. */
  async comeBack(session: Session, id: string): Promise<void> {
    const { journal } = this.workspace.store
    const isRepeat = session.agent !== undefined && journal.answered(session.agent, id) !== undefined
    if (!isRepeat) await this.#settle(session)
  }

  /** Received is not done: what earlier answers handed out counts as read now, because their receiver has come back. */
  #settle(session: Session): Promise<void> | undefined {
    const { engine } = this.workspace
    if (session.handed.size === 0 || session.agent === undefined) return undefined
    const messages = [...session.handed]
    session.handed.clear()
    return engine
      .submit({ rule: 'inbox.read', input: { messages }, by: session.agent, cause: this.workspace.ids('d') })
      .then((reply) => {
        if ('refusal' in reply) for (const message of messages) session.handed.add(message)
      })
  }

  async #answer<O extends CallName>(op: O, asking: Asking, input: ParsedInputOf<O>): Promise<Answer> {
    switch (op) {
      case 'agent.register':
        return {
          output: await register(this.workspace, asking.session, input as ParsedInputOf<'agent.register'>),
        }
      case 'message.send':
        return send(this, asking, input as ParsedInputOf<'message.send'>)
      case 'inbox.take':
        return take(this.workspace, asking, input as ParsedInputOf<'inbox.take'>)
      case 'action.register':
        return { output: await this.workspace.actions.register(asking, input as ParsedInputOf<'action.register'>) }
      case 'action.invoke':
        return { output: await this.workspace.actions.invoke(asking, input as ParsedInputOf<'action.invoke'>) }
      case 'action.answer':
        return { output: await this.workspace.actions.answer(asking, input as ParsedInputOf<'action.answer'>) }
      case 'agent.revoke':
      case 'workspace.set-policy':
      case 'action.withdraw':
      case 'channel.create':
      case 'channel.join':
      case 'channel.leave':
      case 'message.react':
      case 'inbox.offer':
      case 'inbox.read': {
        const { by, id, session } = asking
        const reply = await this.workspace.engine.submit({
          rule: op,
          input: input as never,
          // The key's holder may act without a name; then it is the workspace itself that acts.
          by: by === '' ? daemonName : by,
          cause: id,
          session: session.id,
        })
        if ('refusal' in reply) throw new RefusalError(reply.refusal)
        return { output: reply.outcome }
      }
      default:
        return { output: await ask(this, op, asking, input as never) }
    }
  }
}

/** One sentence for all that is wrong: `to: expected string; body: a message needs a body`. */
export function parse<O extends OperationName>(op: O, input: unknown): ParsedInputOf<O> {
  const result = (operations[op].input as unknown as z.ZodType<ParsedInputOf<O>>).safeParse(input ?? {})
  if (result.success) return result.data
  const why = result.error.issues.map(({ path, message }) =>
    path.length > 0 ? `${path.join('.')}: ${message}` : message,
  )
  throw new RefusalError('input.invalid', { operation: op, why: why.slice(0, 5).join('; ') })
}
