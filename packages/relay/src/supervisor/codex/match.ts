// Matches a session of the relay with its conversation in Codex's background server, for threads.ts.

import type { UserSession } from '../../broker/waking/user-session-runtime.ts'
import type { CodexThread } from './app-server.ts'

/** Whether a person uses the conversation: Codex does not hold it for itself, and no other conversation has begun it. */
export function isPersonsThread({ ephemeral, parentThreadId }: CodexThread): boolean {
  return !ephemeral && (parentThreadId === undefined || parentThreadId === null)
}

/**
 * Returns the conversation that the session's calls come from. Before its first call, that is the conversation in the session's directory, unless
 * another session or conversation would fit as well.
 */
export function matchingCodexThread(
  session: UserSession,
  sessions: readonly UserSession[],
  threads: readonly CodexThread[],
): CodexThread | undefined {
  if (session.calledThread !== undefined) return threads.find(({ id }) => id === session.calledThread)
  const isSame = ({ directory, calledThread }: UserSession) =>
    calledThread === undefined && directory === session.directory
  const free = threads.filter(
    ({ id, cwd }) => cwd === session.directory && !sessions.some(({ calledThread }) => calledThread === id),
  )
  return free.length === 1 && sessions.filter(isSame).length === 1 ? free[0] : undefined
}
