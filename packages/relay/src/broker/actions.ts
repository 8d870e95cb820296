// Carries calls of actions (functions that a program offers to agents): sends each call to the session that offers the action, and its result, or a timeout
// error, back to the caller.

import {
  type ActionEnvelope,
  type Caller,
  type Invocation,
  isWithinBytes,
  limits,
  type OutputOf,
  type ParsedInputOf,
  toolNameOf,
} from '@agent-relay/sdk/protocol'
import { RefusalError } from '../core/refusal-error.ts'
import { mayCallAction, sees } from '../core/sight.ts'
import type { Steps } from '../core/steps.ts'
import type { InvocationRow } from '../core/view.ts'
import type { Alarm } from '../machine/clock.ts'
import type { InvocationOutcome } from '../store/action-rows.ts'
import { type CallContext, causeOf, type Watch, type WatchItemSink, type WorkspaceParts } from './call.ts'
import { acceptedReplyOrThrow, submitByDaemon, submitCall } from './commands.ts'
import type { Session } from './sessions/session.ts'
import { authorityOf } from './sessions/standing.ts'

export class Actions {
  readonly #parts: WorkspaceParts
  /** The timeout timers of action calls under way, by call id. A call that its caller sends again keeps its first timer. */
  readonly #deadlines = new Map<string, Alarm>()
  /** The sessions that made the action calls under way, by call id. The daemon's own actions look up their caller here. */
  readonly #callers = new Map<string, Session>()
  /** The sessions that offer actions and already have a listener that withdraws them when the session ends. */
  readonly #providers = new WeakSet<Session>()

  constructor(parts: WorkspaceParts) {
    this.#parts = parts
    parts.hub.listen((entries) => {
      for (const { facts } of entries)
        for (const fact of facts) if (fact.type === 'action.completed') this.#cancelDeadline(fact.id)
    })
  }

  /** Withdraws the actions that sessions of an earlier daemon on this machine offered, and ends the calls that were under way then. */
  async endLeftovers(): Promise<void> {
    const { store, sessions: here } = this.#parts
    const { actions } = store.view
    const isHere = ({ machine }: { machine?: string }) => machine === here.machine
    const left = [...actions.all(), ...actions.running()].filter(isHere)
    const sessions = [...new Set(left.flatMap(({ session }) => session ?? []))]
    if (sessions.length > 0) await this.#submitWithdraw(sessions)
    for (const { id } of actions.running().filter(isHere)) await this.#expire(id)
  }

  async register(asking: CallContext, input: ParsedInputOf<'action.register'>): Promise<OutputOf<'action.register'>> {
    const { by, session } = asking
    const named = { by, ...causeOf(asking), session: session.id }
    const offered = { ...input, authority: authorityOf(session.standing) }
    const reply = acceptedReplyOrThrow(
      await this.#parts.engine.submit({ rule: 'action.register', input: offered, ...named }),
    )
    // The session may have ended before its action was stored. Its end event has passed by then, so its actions are withdrawn here.
    const withdraw = () => void this.#submitWithdraw([session.id])
    if (session.ended.aborted) withdraw()
    else if (!reply.repeat && !this.#providers.has(session)) {
      // Adds one listener for the session's end, however many actions the session offers.
      this.#providers.add(session)
      session.ended.addEventListener('abort', withdraw, { once: true })
    }
    return reply.outcome as OutputOf<'action.register'>
  }

  *list(agent: string, { unasked, limit }: ParsedInputOf<'action.list'> = {}): Steps<OutputOf<'action.list'>> {
    const actions: OutputOf<'action.list'>['actions'] = []
    const { store, world } = this.#parts
    for (const action of store.view.actions.all(unasked ? 'unasked' : 'all')) {
      if (limit !== undefined && actions.length >= limit) break
      yield
      if (!mayCallAction(action, agent) || world.liveSession(action.session) === undefined) continue
      const { name, description, inputSchema, outputSchema, provider, timeoutMs } = action
      actions.push({ name, tool: toolNameOf(name), description, inputSchema, outputSchema, provider, timeoutMs })
    }
    return { actions }
  }

  /** Calls an action. The result envelope also tells of failures of the action. A caller that stops waiting asks for the result later (`action.result`). */
  async invoke(asking: CallContext, input: ParsedInputOf<'action.invoke'>): Promise<ActionEnvelope> {
    const { by, session, abandoned } = asking
    const { name, timeoutMs } = input
    const inputJson = jsonOf(input.input, 'action.invoke')
    const submitted = { name, inputJson, inputBytes: bytesOf(inputJson), timeoutMs }
    const mint = this.#parts.ids('act')
    // Records the calling session before the commit: the action's provider hears of the call before this function continues.
    this.#callers.set(mint, session)
    try {
      const asked = { rule: 'action.invoke', input: submitted, by, session: session.id, newId: mint } as const
      const { outcome } = acceptedReplyOrThrow(await this.#parts.engine.submit({ ...asked, ...causeOf(asking) }))
      const { id: invocation, timeoutMs: ms } = outcome as { id: string; timeoutMs?: number }
      await this.#completion(invocation, abandoned, ms)
      return this.#envelope(invocation)
    } finally {
      this.#callers.delete(mint)
    }
  }

  /** Returns the session that made an action call under way; undefined once nobody waits for the result. */
  callerOf(invocation: string): Session | undefined {
    return this.#callers.get(invocation)
  }

  result({ session }: CallContext, invocation: string): OutputOf<'action.result'> {
    const { view } = this.#parts.store
    const outcome = view.actions.outcome(invocation)
    if (!outcome || !sees(view, session, 'result', outcome))
      throw new RefusalError('invocation.unknown', { invocation })
    return outcome.isDone ? { running: false, result: this.#envelope(invocation) } : { running: true }
  }

  async answer(asking: CallContext, input: ParsedInputOf<'action.answer'>): Promise<OutputOf<'action.answer'>> {
    const { invocation, output, error } = input
    const outputJson = error ? undefined : jsonOf(output, 'action.answer')
    const submitted = {
      invocation,
      error,
      outputJson,
      outputBytes: outputJson === undefined ? undefined : bytesOf(outputJson),
    }
    return (await submitCall(this.#parts, asking, 'action.answer', submitted)).outcome as OutputOf<'action.answer'>
  }

  /** Sends the calls of a session's actions to that session. Each call is sent once: a provider that reconnects does not get earlier calls again. */
  follow(session: Session, sink: WatchItemSink): Watch {
    const waiting: string[] = []
    const send = () => {
      while (waiting.length > 0 && sink.isReady()) sink.item(this.#invocationFor(waiting.shift() as string))
    }
    const stop = this.#parts.hub.listen((entries) => {
      for (const { facts } of entries) {
        const isOver = facts.some(({ type }) => type === 'action.completed')
        for (const fact of facts)
          if (fact.type === 'action.invoked' && fact.session === session.id && !isOver) waiting.push(fact.id)
      }
      send()
    })
    return { seq: this.#parts.store.journal.lastSeq, drained: send, stop }
  }

  #invocationFor(id: string): Invocation {
    const { actions } = this.#parts.store.view
    const { action, caller } = actions.invocation(id) as InvocationRow
    const input = JSON.parse(actions.inputJson(id))
    return { invocation: id, action, input, caller: this.#describeCaller(caller) }
  }

  #describeCaller(name: string): Caller {
    const { store, sessions } = this.#parts
    const agent = store.view.agent(name)
    return {
      type: agent?.type ?? 'agent',
      id: agent?.id ?? name,
      name,
      handle: agent?.handle,
      sessionId: sessions.sessionOf(name),
    }
  }

  /** Resolves when the action call has ended, or when its caller no longer waits. In the second case the call goes on until its result or its timeout. */
  #completion(id: string, abandoned: AbortSignal, ms: number | undefined): Promise<void> {
    return new Promise((resolve) => {
      const running = this.#parts.store.view.actions.invocation(id)
      if (!running || running.isDone) return resolve()
      // The timeout counts from now: where several machines share a workspace, a call may be stored some time after it was decided.
      this.#setDeadline(id, ms ?? running.until - running.at)
      const stop = this.#parts.hub.listen((entries) => {
        const isOver = entries.some(({ facts }) =>
          facts.some((fact) => fact.type === 'action.completed' && fact.id === id),
        )
        if (!isOver) return
        stop()
        abandoned.removeEventListener('abort', giveUp)
        resolve()
      })
      const giveUp = () => resolve()
      if (abandoned.aborted) giveUp()
      else abandoned.addEventListener('abort', giveUp, { once: true })
    })
  }

  #cancelDeadline(id: string): void {
    this.#deadlines.get(id)?.cancel()
    this.#deadlines.delete(id)
  }

  #setDeadline(id: string, ms: number): void {
    if (this.#deadlines.has(id)) return
    const deadline = this.#parts.clock.after(ms, () => void this.#expire(id))
    this.#deadlines.set(id, deadline)
  }

  #envelope(invocationId: string): ActionEnvelope {
    const outcome = this.#parts.store.view.actions.outcome(invocationId) as InvocationOutcome
    const { action, isDone, ok, code, message, outputJson } = outcome
    if (ok) return { ok: true, action, invocationId, output: JSON.parse(outputJson as string) }
    const error =
      isDone && code
        ? { code, message: message ?? '' }
        : { code: 'timeout' as const, message: 'The caller stopped waiting; action.result has the result later.' }
    return { ok: false, action, invocationId, error }
  }

  async #expire(invocation: string): Promise<void> {
    await submitByDaemon(this.#parts, 'action.expire', { invocation })
  }

  async #submitWithdraw(sessions: string[]): Promise<void> {
    await submitByDaemon(this.#parts, 'action.withdraw', { sessions })
  }
}

function jsonOf(value: unknown, operation: string): string {
  const json = JSON.stringify(value ?? null)
  if (isWithinBytes(json, limits.actionBytesMax) && !json.includes('\\u0000')) return json
  const why = `at most ${limits.actionBytesMax} bytes of JSON without U+0000: put the rest into a file and name it`
  throw new RefusalError('input.invalid', { operation, why })
}

function bytesOf(json: string): number {
  return Buffer.byteLength(json)
}
