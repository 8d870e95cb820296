// `POST /api/<operation>`: the operations table over plain HTTP. Every call stands alone; what must outlast one is kept by agent.

import { Keeper } from '@agent-relay/mcp/keeper'
import { type Hello, limits, type Refusal, refusals } from '@agent-relay/sdk/protocol'
import type { Dispatch } from '../broker/dispatch.ts'
import type { Session } from '../broker/sessions.ts'
import { RefusalError, refusalOf } from '../refusal-error.ts'
import type { Principal } from './callers.ts'
import { enter } from './entering.ts'

export interface ApiLimits {
  /** An agent that has not called for this long counts as gone. */
  idleMs: number
  sessionsMax: number
}

export const apiLimits: Readonly<ApiLimits> = { idleMs: 30 * 60_000, sessionsMax: 1_000 }

export interface ApiCall {
  operation: string
  input: unknown
  /** The caller's own id for it, so that a repeat runs once. */
  id?: string
  /** The caller is gone: a wait for a reply ends. */
  abandoned: AbortSignal
  /** True when the whole answer has left. */
  left: Promise<boolean>
}

export interface ApiAnswer {
  status: number
  body: object
}

interface Seated {
  dispatch: Dispatch
  opening: Promise<Session>
}

export class Api {
  readonly #seats: Keeper<Seated>
  pending = 0

  constructor({ idleMs, sessionsMax }: ApiLimits = apiLimits) {
    this.#seats = new Keeper({
      idleMs,
      countMax: sessionsMax,
      end: ({ dispatch, opening }) =>
        void opening.then(
          (session) => dispatch.workspace.sessions.end(session),
          () => {},
        ),
    })
  }

  async call(principal: Principal, call: ApiCall): Promise<ApiAnswer> {
    this.pending++
    try {
      // A registration binds its session to the name: not to one that others share.
      if (call.operation === 'agent.register') return await this.#callOnce(principal, call)
      // By proof too: what is opened with the key ends with the key.
      const proof = principal.token !== undefined ? 'token' : principal.key !== undefined ? 'key' : 'open'
      const key = `${principal.dispatch.workspace.id}/${proof}/${principal.agent ?? ''}`
      const seated = this.#seats.get(key) ?? this.#seat(key, principal)
      void call.left.then(this.#seats.use(key))
      return await answer(principal.dispatch, await seated.opening, call)
    } catch (error) {
      return failed(refusalOf(error))
    } finally {
      this.pending--
    }
  }

  close(): void {
    this.#seats.clear()
  }

  #seat(key: string, principal: Principal): Seated {
    const seated = { dispatch: principal.dispatch, opening: open(principal) }
    if (!this.#seats.put(key, seated)) throw new RefusalError('fault', { why: 'too many callers at once; try again.' })
    const drop = () => this.#seats.drop(key, seated)
    seated.opening.then(({ ended }) => ended.addEventListener('abort', drop), drop)
    return seated
  }

  async #callOnce(principal: Principal, call: ApiCall): Promise<ApiAnswer> {
    const session = await open(principal)
    try {
      return await answer(principal.dispatch, session, call)
    } finally {
      principal.dispatch.workspace.sessions.end(session)
    }
  }
}

/** With a name, as that agent and no more, since all who may act as it share this; without, as nobody, who counts as the key's holder. */
async function open({ dispatch, agent, key, token }: Principal): Promise<Session> {
  const hello: Hello = { name: agent, key, token }
  const { session } = await enter(dispatch, { door: 'network', isTrusted: true }, hello)
  session.isHolder = agent === undefined
  return session
}

async function answer(dispatch: Dispatch, session: Session, call: ApiCall): Promise<ApiAnswer> {
  const { operation, input, abandoned, left } = call
  const id = call.id ?? dispatch.workspace.ids('c')
  if (!/^[\x21-\x7e]+$/.test(id) || id.length > limits.idCharsMax)
    throw new RefusalError('input.invalid', {
      operation: 'X-Relay-Call-Id',
      why: `an id is 1 to ${limits.idCharsMax} characters`,
    })
  const signal = AbortSignal.any([session.ended, abandoned])
  const { output, handed } = await dispatch.call(session, operation, input, id, signal)
  if (handed)
    void left.then((hasLeft) => (hasLeft ? dispatch.received(session, handed) : dispatch.lost(session, handed)))
  return { status: 200, body: output as object }
}

export function failed({ code, message, details }: Refusal): ApiAnswer {
  return { status: refusals[code].http, body: { error: { code, message, details } } }
}
