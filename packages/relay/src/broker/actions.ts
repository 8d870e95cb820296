// Calls of actions on their way: to the session that offers the action, and back to the caller, within the call's time.

import {
  type ActionEnvelope,
  type Caller,
  daemonName,
  type Invocation,
  isWithinBytes,
  limits,
  type OutputOf,
  type ParsedInputOf,
  toolNameOf,
} from '@agent-relay/sdk/protocol'
import type { Clock } from '../clock.ts'
import { mayCall } from '../core/actions.ts'
import { RefusalError } from '../refusal-error.ts'
import type { Store } from '../store/store.ts'
import type { Asking } from './call.ts'
import type { Engine } from './engine.ts'
import type { Hub } from './hub.ts'
import type { Parts } from './parts.ts'
import type { Session, Sessions } from './sessions.ts'
import type { Sink, Watch } from './sink.ts'

export class Actions {
  readonly #store: Store
  readonly #engine: Engine
  readonly #hub: Hub
  readonly #clock: Clock
  readonly #sessions: Sessions
  readonly #nextCause: () => string

  constructor({ store, engine, hub, sessions, clock, nextCause }: Parts) {
    this.#store = store
    this.#engine = engine
    this.#hub = hub
    this.#clock = clock
    this.#sessions = sessions
    this.#nextCause = nextCause
  }

  /** What the daemon of before left behind: its sessions are gone, and the calls they owed with them. */
  async begin(): Promise<void> {
    const left = [...this.#store.view.actions(), ...this.#store.view.runningInvocations()]
    const sessions = [...new Set(left.flatMap(({ session }) => session ?? []))]
    if (sessions.length > 0) await this.#submitWithdraw(sessions)
    for (const { id } of this.#store.view.runningInvocations()) await this.#expire(id)
  }

  async register(
    { by, session, id }: Asking,
    input: ParsedInputOf<'action.register'>,
  ): Promise<OutputOf<'action.register'>> {
    const reply = await this.#engine.submit({ rule: 'action.register', input, by, cause: id, session: session.id })
    if ('refusal' in reply) throw new RefusalError(reply.refusal)
    // Over before it was written: what the session offers goes with it.
    const withdraw = () => void this.#submitWithdraw([session.id])
    if (session.ended.aborted) withdraw()
    else if (!reply.repeat) onceEnded(session, withdraw)
    return reply.outcome as OutputOf<'action.register'>
  }

  list(agent: string): OutputOf<'action.list'> {
    const actions = [...this.#store.view.actions()].filter(
      (action) => mayCall(action, agent) && this.#sessions.holder(action.session) !== undefined,
    )
    return {
      actions: actions.map(({ name, description, inputSchema, outputSchema, provider, timeoutMs }) => ({
        name,
        tool: toolNameOf(name),
        description,
        inputSchema,
        outputSchema,
        provider,
        timeoutMs,
      })),
    }
  }

  /** Ends with an envelope whatever happens; a caller that stops waiting asks for the result later. */
  async invoke({ by, session, id, abandoned }: Asking, input: ParsedInputOf<'action.invoke'>): Promise<ActionEnvelope> {
    const { name, timeoutMs } = input
    const inputJson = jsonOf(input.input, 'action.invoke')
    const submitted = { name, inputJson, inputBytes: bytesOf(inputJson), timeoutMs }
    const reply = await this.#engine.submit({
      rule: 'action.invoke',
      input: submitted,
      by,
      cause: id,
      session: session.id,
    })
    if ('refusal' in reply) throw new RefusalError(reply.refusal)
    const { id: invocation } = reply.outcome as { id: string }
    await this.#completion(invocation, abandoned)
    return this.#envelope(invocation)
  }

  result({ by, session }: Asking, invocation: string): OutputOf<'action.result'> {
    const outcome = this.#store.view.rows.outcome(invocation)
    if (!outcome || (outcome.caller !== by && !session.isHolder))
      throw new RefusalError('invocation.unknown', { invocation })
    return outcome.isDone ? { running: false, result: this.#envelope(invocation) } : { running: true }
  }

  async answer({ by, id }: Asking, input: ParsedInputOf<'action.answer'>): Promise<OutputOf<'action.answer'>> {
    const { invocation, output, error } = input
    const outputJson = error ? undefined : jsonOf(output, 'action.answer')
    const submitted = {
      invocation,
      error,
      outputJson,
      outputBytes: outputJson === undefined ? undefined : bytesOf(outputJson),
    }
    const reply = await this.#engine.submit({ rule: 'action.answer', input: submitted, by, cause: id })
    if ('refusal' in reply) throw new RefusalError(reply.refusal)
    return reply.outcome as OutputOf<'action.answer'>
  }

  /** Each call goes to its provider's session once: a provider that comes back does not get it again. */
  follow(session: Session, sink: Sink): Watch {
    const waiting: string[] = []
    const send = () => {
      while (waiting.length > 0 && sink.isReady()) sink.item(this.#forProvider(waiting.shift() as string))
    }
    const stop = this.#hub.listen((entries) => {
      for (const { facts } of entries) {
        const isOver = facts.some(({ type }) => type === 'action.completed')
        for (const fact of facts)
          if (fact.type === 'action.invoked' && fact.session === session.id && !isOver) waiting.push(fact.id)
      }
      send()
    })
    return { seq: this.#store.journal.lastSeq, drained: send, stop }
  }

  #forProvider(id: string): Invocation {
    const { action, caller } = this.#store.view.invocation(id) as { action: string; caller: string }
    return {
      invocation: id,
      action,
      input: JSON.parse(this.#store.view.rows.inputJson(id)),
      caller: this.#caller(caller),
    }
  }

  #caller(name: string): Caller {
    const agent = this.#store.view.agent(name)
    return {
      type: agent?.type ?? 'agent',
      id: agent?.id ?? name,
      name,
      handle: agent?.handle,
      sessionId: this.#sessions.sessionOf(name),
    }
  }

  /** Resolves when the call is over, or when nobody waits for it any more: its time goes on then, and it still ends. */
  #completion(id: string, abandoned: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const running = this.#store.view.invocation(id)
      if (!running || running.isDone) return resolve()
      const deadline = this.#clock.after(Math.max(0, running.until - this.#clock.now()), () => void this.#expire(id))
      const stop = this.#hub.listen((entries) => {
        const isOver = entries.some(({ facts }) =>
          facts.some((fact) => fact.type === 'action.completed' && fact.id === id),
        )
        if (!isOver) return
        stop()
        deadline.cancel()
        abandoned.removeEventListener('abort', giveUp)
        resolve()
      })
      const giveUp = () => resolve()
      if (abandoned.aborted) giveUp()
      else abandoned.addEventListener('abort', giveUp, { once: true })
    })
  }

  #envelope(invocationId: string): ActionEnvelope {
    const { action, isDone, ok, code, message, outputJson } = this.#store.view.rows.outcome(
      invocationId,
    ) as NonNullable<ReturnType<Store['view']['rows']['outcome']>>
    if (ok) return { ok: true, action, invocationId, output: JSON.parse(outputJson as string) }
    const error =
      isDone && code ? { code, message: message ?? '' } : { code: 'timeout' as const, message: 'No longer waited for.' }
    return { ok: false, action, invocationId, error }
  }

  async #expire(invocation: string): Promise<void> {
    await this.#engine.submit({
      rule: 'action.expire',
      input: { invocation },
      by: daemonName,
      cause: this.#nextCause(),
    })
  }

  async #submitWithdraw(sessions: string[]): Promise<void> {
    await this.#engine.submit({
      rule: 'action.withdraw',
      input: { sessions },
      by: daemonName,
      cause: this.#nextCause(),
    })
  }
}

const watched = new WeakSet<Session>()

/** However many actions a session offers, it ends once. */
function onceEnded(session: Session, work: () => void): void {
  if (watched.has(session)) return
  watched.add(session)
  session.ended.addEventListener('abort', work, { once: true })
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
