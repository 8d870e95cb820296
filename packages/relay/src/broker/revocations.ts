// A session lives as long as the credentials that it has shown are valid: when the workspace's key or an agent's tokens change, the others end.

import type { Entry } from '@agent-relay/sdk/protocol'
import { RefusalError } from '../refusal-error.ts'
import type { Store } from '../store/store.ts'
import type { Hub } from './hub.ts'
import type { Session, Sessions } from './sessions.ts'

/** Told by the hub and not by whoever rotated: a second daemon of the same workspace would only see the facts. */
export function endRevoked(store: Store, sessions: Sessions, hub: Hub): void {
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

function whyRevoked(store: Store, { shown }: Session): string | undefined {
  if (shown.keyHash !== undefined && shown.keyHash !== store.meta('key')) return 'the workspace key was replaced.'
  // Whether its time is over is not asked: that is found by the next call that shows it.
  const isKnown = (hash: string) => store.queries.agentOfTokenHash(hash, 0) !== undefined
  return [...shown.tokenHashes].every(isKnown) ? undefined : "the agent's tokens were revoked."
}
