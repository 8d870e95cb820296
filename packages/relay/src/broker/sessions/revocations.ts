// Ends sessions whose credentials were revoked, because the workspace key was replaced or an agent's tokens were.

import type { Entry } from '@agent-relay/sdk/protocol'
import { RefusalError } from '../../core/refusal-error.ts'
import type { Store } from '../../store/store.ts'
import type { EntryHub } from '../hub.ts'
import type { Session } from './session.ts'
import type { Sessions } from './sessions.ts'

/**
 * Ends sessions at each revocation. Listens for committed facts instead of being called by the operation, since a revocation on another machine arrives only as
 * facts.
 */
export function endRevokedSessions(store: Store, sessions: Sessions, hub: EntryHub): void {
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
  // A token that has expired is not noticed here, but by the next call that shows it.
  const isKnown = (hash: string) => store.queries.tokenOwner(hash) !== undefined
  return [...shownCredentials.tokenHashes].every(isKnown) ? undefined : "the agent's tokens were revoked."
}
