// How a session over any wire comes to act as its agent: by a credential, or, where the relay is open, by its word.

import type { Hello, Welcome } from '@agent-relay/sdk/protocol'
import { register } from '../broker/admission.ts'
import { type Dispatch, parse } from '../broker/dispatch.ts'
import type { Door, Session } from '../broker/sessions.ts'
import { RefusalError } from '../refusal-error.ts'

export interface Entry {
  door: Door
  /** The relay is open and a name was given: it is taken as if the key had been shown, so that the same name stays the same agent. */
  isTrusted?: boolean
  /** A call that names no agent, made with the key or on an open relay: it counts as the key's holder. */
  isNobody?: boolean
  /** Each of its calls stands alone: an agent that takes a name is given a token to show, since no session remembers it. */
  isStateless?: boolean
}

export async function enter(
  dispatch: Dispatch,
  { door, isTrusted = false }: Entry,
  hello: Hello,
  isModel = false,
): Promise<{ session: Session; welcome: Welcome }> {
  const { name, token, key, session: resume, calls } = hello
  if (!isTrusted || name === undefined || token !== undefined || key !== undefined)
    return dispatch.hello(door, hello, isModel)
  const { workspace } = dispatch
  if (hello.type === 'human' || workspace.store.view.agent(name)?.type === 'human')
    throw new RefusalError('auth.denied', { why: `${name} is a person: show the workspace key.` })
  const { session, welcome } = await dispatch.hello(door, { session: resume, calls }, isModel)
  try {
    session.isHolder = true
    const { session: _, calls: __, ...profile } = hello
    const { agent, token: issued } = await register(workspace, session, parse('agent.register', profile))
    session.isHolder = false
    return { session, welcome: { ...welcome, agent, token: issued } }
  } catch (error) {
    workspace.sessions.end(session)
    throw error
  }
}
