// Every call of every wire comes through here: is the operation known, may this session ask it, is the input sound; then who answers it.

import {
  type CallName,
  daemonName,
  type Hello,
  isOperation,
  type OperationName,
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

/** Between a hook and the program that started it there may be a shell or two. */
const hostsMax = 16

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
      if (door === 'owner') session.host = hello.host
      const registered = await this.#introduce(session, hello)
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

  async #introduce(session: Session, hello: Hello): Promise<{ agent: string; token?: string } | undefined> {
    if (hello.hosts !== undefined) return this.#joinHost(session, hello.hosts)
    if (hello.name === undefined && hello.token === undefined) return undefined
    const { key: _, session: __, ...profile } = hello
    const name = hello.name ?? this.workspace.agentOfToken(hello.token as string)
    if (name === undefined) throw new RefusalError('auth.denied', { why: 'the token is not known here.' })
    const input = parse('agent.register', { ...profile, name })
    return register(this.workspace, session, input)
  }

  /** Who runs on the owner's account could read the agent's token as well. */
  #joinHost(session: Session, hosts: readonly number[]): { agent: string } {
    const isList = Array.isArray(hosts) && hosts.length <= hostsMax && hosts.every(Number.isInteger)
    const agent = isList && session.door === 'owner' ? this.workspace.sessions.agentOfHost(hosts) : undefined
    if (agent === undefined) throw new RefusalError('agent.required')
    this.workspace.sessions.bind(session, agent)
    return { agent }
  }

  async call(session: Session, op: string, input: unknown, id: string, abandoned = session.ended): Promise<Answer> {
    const name = this.#admit(session, op)
    if (operations[name].kind === 'watch') throw new RefusalError('operation.unknown', { operation: op })
    const parsed = parse(name as CallName, input)
    // A model's calls are grouped into turns, and its turns come back by `comeBack`.
    const settled = session.isModel || isHook(parsed) ? undefined : this.#settle(session)
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
    if (name === 'worker.follow') return workspace.workers.follow(session, parse('worker.follow', input).name, sink)
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
    const { engine, sessions } = this.workspace
    if (session.agent === undefined) return undefined
    const messages = sessions.received(session)
    if (messages.length === 0) return undefined
    return engine
      .submit({ rule: 'inbox.read', input: { messages }, by: session.agent, cause: this.workspace.ids('d') })
      .then((reply) => {
        if ('refusal' in reply) for (const message of messages) session.handed.add(message)
      })
  }

  /** The answer that carried them has left. */
  received(session: Session, handed: readonly string[] = []): void {
    for (const message of handed) session.handed.add(message)
  }

  /** It never will: they are free for the next taker. Also when the session is over, where the hold ends by itself. */
  async lost(session: Session, handed: readonly string[] = []): Promise<void> {
    const { engine, ids } = this.workspace
    if (handed.length === 0 || session.agent === undefined) return
    const input = { messages: [...handed] }
    await engine.submit({ rule: 'inbox.let-go', input, by: session.agent, cause: ids('d'), session: session.id })
  }

  /** Where HTTP is served now. */
  get #url(): string | undefined {
    return this.daemon.url?.()
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
      case 'worker.spawn':
        return { output: await this.workspace.workers.spawn(asking, input as ParsedInputOf<'worker.spawn'>) }
      case 'worker.release':
      case 'worker.pause':
      case 'worker.resume':
        return { output: await this.workspace.workers.wish(op, asking, input as ParsedInputOf<'worker.release'>) }
      case 'worker.type':
        return { output: this.workspace.workers.type(asking, input as ParsedInputOf<'worker.type'>) }
      case 'worker.resize':
        return { output: this.workspace.workers.resize(asking, input as ParsedInputOf<'worker.resize'>) }
      case 'run.start':
        return { output: await this.workspace.runs.start(asking, input as ParsedInputOf<'run.start'>, this.#url) }
      case 'run.complete':
        return { output: await this.workspace.runs.complete(asking, input as ParsedInputOf<'run.complete'>, this.#url) }
      case 'run.stop':
        return { output: await this.workspace.runs.stop(asking, input as ParsedInputOf<'run.stop'>, this.#url) }
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
        if (isHook(input)) this.workspace.sessions.paste(by, (input as ParsedInputOf<'inbox.offer'>).messages)
        return { output: reply.outcome }
      }
      default:
        return { output: await ask(this, op, asking, input as never) }
    }
  }
}

/** A hook of the agent's CLI asks, not the agent: it has not come back by that. */
function isHook(input: unknown): boolean {
  return (input as { route?: unknown }).route === 'hook'
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
