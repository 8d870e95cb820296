// How an MCP client takes the name it wants: for its session, or where there is none, with a token that proves it for a day.

import type { Profile, Registered } from '@agent-relay/mcp'
import { errorFrom, type WorkspaceClient } from '@agent-relay/sdk'
import type { InputOf, OutputOf } from '@agent-relay/sdk/protocol'
import { register } from '../broker/admission.ts'
import { type Dispatch, parse } from '../broker/dispatch.ts'
import type { Session } from '../broker/sessions.ts'
import { refusalOf } from '../refusal-error.ts'

export const dayMs = 24 * 60 * 60_000

/** `mayRename`: the session acts under a name that it was given and did not choose. */
export async function takeName(
  { workspace: { sessions } }: Dispatch,
  session: Session,
  client: WorkspaceClient,
  profile: InputOf<'agent.register'>,
  mayRename: boolean,
): Promise<OutputOf<'agent.register'>> {
  const former = session.agent
  // Asked again after it was numbered: `Ada` for `Ada-2` is the same wish.
  const name = former?.replace(/-\d+$/, '') === profile.name ? former : profile.name
  const renames = mayRename && former !== undefined && former !== name
  if (renames) sessions.unbind(session)
  try {
    return await client.call('agent.register', { ...profile, name })
  } catch (error) {
    if (renames) sessions.bind(session, former)
    throw error
  }
}

/** Nobody's session stays nobody's: others call over it too. An agent's own session may only be given another token of its own. */
export async function registerForTheDay(dispatch: Dispatch, session: Session, profile: Profile): Promise<Registered> {
  const { workspace } = dispatch
  try {
    const input = parse('agent.register', profile)
    const tokenUntil = workspace.clock.now() + dayMs
    const named = session.agent === undefined ? (await dispatch.hello('network', {}, true)).session : session
    try {
      const { agent, id, token } = await register(workspace, named, input, { tokenUntil })
      return { agent, id, agentToken: token }
    } finally {
      if (named !== session) workspace.sessions.end(named)
    }
  } catch (error) {
    throw errorFrom(refusalOf(error))
  }
}
