// Ends sessions whose credentials were revoked: when the workspace key or an agent's tokens change, sessions that have shown the former ones end.

import type { Entry } from '@agent-relay/sdk/protocol'
import { RefusalError } from '../../core/refusal-error.ts'
import type { Store } from '../../store/store.ts'
import type { Hub } from '../hub.ts'
import type { Session } from './session.ts'
import type { Sessions } from './sessions.ts'

/**
 * Ends sessions at each revocation. Listens to the hub instead of being called by the operation, since a change by another daemon of the workspace is only seen
 * in facts.
 */
export function endRevokedSessions(store: Store, sessions: Sessions, hub: Hub): void {
  hub.listen((entries) => {
    if (!entries.some(isRevocation)) return
    for (const session of sessions.all()) {
      const why = whyRevoked(store, session)
      if (why !== undefined) sessions.end(session, new RefusalError('auth.revoked', { why }))
    }
  })
}

function isRevocation({ facts }: Entry): boolean {
  return facts.some(({ type }) => type === 'workspace.key-issued' || type === 'agent.tokens-revoked')
}

function whyRevoked(store: Store, { shownCredentials }: Session): string | undefined {
  if (shownCredentials.keyHash !== undefined && shownCredentials.keyHash !== store.meta('key'))
    return 'the workspace key was replaced.'
  // Whether a token has expired is not checked here: the next call that shows the token finds out.
  const isKnown = (hash: string) => store.queries.tokenOwner(hash) !== undefined
  return [...shownCredentials.tokenHashes].every(isKnown) ? undefined : "the agent's tokens were revoked."
}
