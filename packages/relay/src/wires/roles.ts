// The roles of `agent-relay lift`, where several sessions share a relay. Only there the input of a call says who acts: each role that an MCP session names gets
// a session of its own in the relay, opened with the first call and ended with the MCP session, so that messages handed to a reader that died come back.

import type { Turn } from '@agent-relay/sdk/internal/client'
import { errorFrom } from '@agent-relay/sdk/wire'
import type { Dispatch } from '../broker/dispatch.ts'
import type { Session } from '../broker/sessions/session.ts'
import { RefusalError } from '../core/refusal-error.ts'
import { InProcessLink } from './in-process.ts'

/** Callers on the port of `agent-relay lift` may act as any of its roles, and do nothing else. */
const origin = { door: 'lift', kind: 'model' } as const

/** Registers the lift's roles as agents, so that messages reach them before they have connected. */
export async function declareRoles(dispatch: Dispatch): Promise<void> {
  for (const name of dispatch.daemon.roles ?? []) {
    const { session } = await dispatch.openSession(origin, { name })
    dispatch.workspace.sessions.end(session)
  }
}

export class RoleSessions {
  readonly #dispatch: Dispatch
  readonly #names: readonly string[]
  readonly #own: () => string | undefined
  readonly #opening = new Map<string, Promise<InProcessLink>>()
  readonly #sessions = new Set<Session>()
  #isClosed = false

  /** `own` returns the name that the MCP session has shown or chosen; without one the session may act as every role. */
  constructor(dispatch: Dispatch, names: readonly string[], own: () => string | undefined) {
    this.#dispatch = dispatch
    this.#names = names
    this.#own = own
  }

  get sessions(): Iterable<Session> {
    return this.#sessions
  }

  /** Wraps the turn of one `tools/call` so that its calls to the relay may be made as a role. */
  turn(id: string, turn: Turn): Turn {
    const turns = [turn]
    const own = this.#own()
    const as = (role: string): Turn => {
      if (own !== undefined && own !== role) throw errorFrom(notYours(own, role))
      const asRole = own === role ? turn : this.#turnAs(role, id)
      if (own !== role) turns.push(asRole)
      return { ...asRole, roles }
    }
    const roles = { names: this.#names, own, as }
    return {
      call: (op, input, signal) => turn.call(op, input, signal),
      answered: () => {
        for (const each of turns) each.answered()
      },
      lost: () => {
        for (const each of turns) each.lost()
      },
      roles,
    }
  }

  close(): void {
    this.#isClosed = true
    for (const opening of this.#opening.values()) void opening.then((link) => link.close()).catch(() => {})
  }

  #turnAs(role: string, id: string): Turn {
    // All calls made as the role share one turn: they are numbered together, and their messages count as read together.
    const opened = this.#linkOf(role).then((link) => link.turn(id))
    return {
      call: async (op, input, signal) => (await opened).call(op, input, signal),
      answered: () => void opened.then((turn) => turn.answered()).catch(() => {}),
      lost: () => void opened.then((turn) => turn.lost()).catch(() => {}),
    }
  }

  #linkOf(role: string): Promise<InProcessLink> {
    const opening = this.#opening.get(role) ?? this.#open(role)
    this.#opening.set(role, opening)
    opening.catch(() => this.#opening.delete(role))
    return opening
  }

  async #open(role: string): Promise<InProcessLink> {
    const { session, welcome } = await this.#dispatch.openSession(origin, { name: role })
    this.#sessions.add(session)
    const link = new InProcessLink(this.#dispatch, session, welcome)
    if (this.#isClosed) void link.close()
    return link
  }
}

function notYours(own: string, role: string) {
  const why = `this session is ${own} and cannot act as ${role}. Say "${own}" as from and for.`
  return new RefusalError('auth.denied', { why }).refusal
}
