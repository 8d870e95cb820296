// Who a session may be: credentials are checked here, names are decided by the rules, and the session is bound to the outcome.

import { type Hello, limits, type OutputOf, type ParsedInputOf } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { RefusalError } from '../refusal-error.ts'
import { hashOf, newSecret } from './credentials.ts'
import type { Session } from './sessions.ts'
import type { Workspace } from './workspace.ts'

/** What a session stands on. Who it wants to be is checked when it is registered. */
const standing = z.object({
  key: z.string().optional(),
  token: z.string().optional(),
  session: z.string().max(limits.idCharsMax).optional(),
  calls: z.array(z.string()).optional(),
  host: z.number().int().optional(),
})

/** What came as one from anybody. */
export function helloOf(payload: unknown): Hello {
  const hello = typeof payload === 'object' && payload !== null ? payload : {}
  const { error } = standing.safeParse(hello)
  if (error === undefined) return hello
  const why = error.issues.map(({ path, message }) => `HELLO: ${path.join('.')}: ${message}`)
  throw new RefusalError('frame.invalid', { why: why.slice(0, 5).join('; ') })
}

/** Answers the key's hash. An unknown key and another workspace's key get the same refusal. */
export function authenticate(workspace: Workspace, key: string): string {
  if (workspace.isKey(key)) return hashOf(key)
  throw new RefusalError('auth.denied', { why: 'the workspace key is not valid here.' })
}

export async function register(
  workspace: Workspace,
  session: Session,
  { token, ...profile }: ParsedInputOf<'agent.register'>,
  { tokenUntil }: { tokenUntil?: number } = {},
): Promise<OutputOf<'agent.register'>> {
  const { engine, sessions } = workspace
  if (session.agent !== undefined && session.agent !== profile.name && !session.isHolder) {
    throw new RefusalError('auth.denied', {
      why: `this session acts as ${session.agent}; open another for ${profile.name}.`,
    })
  }
  if (token !== undefined && workspace.agentOfToken(token) !== profile.name) {
    throw new RefusalError('auth.denied', { why: `the token is not one of ${profile.name}'s.` })
  }
  if (token !== undefined) session.shown.tokenHashes.add(hashOf(token))
  if (profile.type === 'human' && !session.isHolder) {
    throw new RefusalError('auth.denied', { why: 'an agent of type human needs the workspace key.' })
  }
  const proven = token !== undefined || session.isHolder || session.agent === profile.name
  return inTurn(workspace, profile.name, async () => {
    const fresh = newSecret('at')
    const reply = await engine.submit({
      rule: 'agent.register',
      input: { ...profile, proven, mayRetake: session.door === 'owner', tokenHash: hashOf(fresh), tokenUntil },
      by: profile.name,
      // Never the caller's: an id that was overheard must not bind a stranger to the answer it got.
      cause: workspace.ids('c'),
    })
    if ('refusal' in reply) throw new RefusalError(reply.refusal)
    refuseRevoked(session)
    const { agent, id, issued } = reply.outcome as { agent: string; id: string; issued?: boolean }
    sessions.bind(session, agent)
    if (session.isModel) await recall(workspace, session, agent)
    return issued ? { agent, id, token: fresh } : { agent, id }
  })
}

/**
 * After a restart the daemon has forgotten what this session was handed; the holds in the tables still tell. What went with an answer that
 * never arrived is let go, so that the next taker gets it; a reply goes with some call that waited, and which one the tables do not say.
 */
async function recall({ store, engine, ids }: Workspace, session: Session, agent: string): Promise<void> {
  const { unanswered } = session
  const lost = new Set(unanswered.flatMap((call) => store.journal.answered(agent, call)?.outcome.messages ?? []))
  const letGo: string[] = []
  for (const { head, receipt } of store.view.unread(agent, {})) {
    if (receipt?.session !== session.id || receipt.until === undefined) continue
    const wasLost = lost.has(head.id) || (receipt.route === 'wait' && unanswered.length > 0)
    if (wasLost) letGo.push(head.id)
    else session.handed.add(head.id)
  }
  if (letGo.length === 0) return
  const input = { messages: letGo }
  await engine.submit({ rule: 'inbox.let-go', input, by: agent, cause: ids('d'), session: session.id })
}

/** Its key or token was revoked while the call was on its way. */
export function refuseRevoked({ ended }: Session): void {
  if (ended.reason instanceof RefusalError) throw ended.reason
}

const turns = new WeakMap<Workspace, Map<string, Promise<unknown>>>()

/** Two who ask for one name in the same moment: the second is decided only when the first is bound and counts as live. */
async function inTurn<T>(workspace: Workspace, name: string, work: () => Promise<T>): Promise<T> {
  const family = name.replace(/-\d+$/, '')
  const waiting = turns.get(workspace) ?? new Map<string, Promise<unknown>>()
  turns.set(workspace, waiting)
  const mine = (waiting.get(family) ?? Promise.resolve()).then(work, work)
  waiting.set(family, mine)
  try {
    return await mine
  } finally {
    if (waiting.get(family) === mine) waiting.delete(family)
  }
}
