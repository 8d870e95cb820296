// Provisional names, which the daemon gave to a session that did not choose one. The name belongs to the session as long as it lives, and is stored once its
// agent sends or is sent something. A session that only looks around leaves nothing behind, and its name is free for the next session.

import { type OperationName, type OperationRule, operations } from '@agent-relay/sdk/protocol'
import { broadcast, generalChannel } from '../../core/conversations.ts'
import { findHandleOwner, readsLikeDaemon } from '../../core/handles.ts'
import { freeNameOf } from '../../core/name-family.ts'
import { RefusalError } from '../../core/refusal-error.ts'
import { register } from '../admission.ts'
import type { WorkspaceCore } from '../call.ts'
import type { ProvisionalName, Session } from '../sessions/session.ts'

/** Binds the session to a free name of the wanted family (`codex`, `codex-2`, …), without storing it. */
export function giveProvisionalName(
  workspace: WorkspaceCore,
  session: Session,
  { name, cli }: { name: string; cli?: string },
  onStored?: ProvisionalName['onStored'],
): string {
  const { sessions, store, ids } = workspace
  const { view } = store
  const isTaken = (each: string) =>
    readsLikeDaemon(each) ||
    sessions.isLive(each) ||
    !!view.agent(each) ||
    view.isRetired(each) ||
    !!findHandleOwner(view, sessions, each)
  const free = freeNameOf(name, isTaken)
  if (free === undefined) throw new RefusalError('agent.name-taken', { name })
  const heardFrom = {
    general: lastMessageNumber(workspace, generalChannel),
    broadcast: lastMessageNumber(workspace, broadcast),
  }
  sessions.bind(session, free, { id: ids('a'), profile: { name: free, cli }, heardFrom, onStored })
  return free
}

/** Returns the number of messages sent to everybody since the session opened. */
export function messagesToEverybodySince(workspace: WorkspaceCore, { heardFrom }: ProvisionalName): number {
  return (
    lastMessageNumber(workspace, generalChannel) -
    heardFrom.general +
    (lastMessageNumber(workspace, broadcast) - heardFrom.broadcast)
  )
}

/**
 * Before a call, stores the provisional names that its input contains, and the caller's own unless the call only reads. Returns undefined if no name has to be
 * stored.
 */
export function storeProvisionalNamesFor(
  workspace: WorkspaceCore,
  session: Session,
  operation: OperationName,
  input: object,
): Promise<unknown> | undefined {
  const { sessions } = workspace
  if (sessions.provisionalCount === 0) return undefined
  // A hook of the same CLI has a session of its own under the same name; the provisional name belongs to the CLI's session.
  const own = session.provisional ? session : sessions.provisional(session.agent ?? '')
  const named = new Set<Session | undefined>(namesIn(input).map((name) => sessions.provisional(name)))
  // `agent.register` itself replaces or stores its session's name.
  if (operation === 'agent.register') named.delete(session)
  else if (own?.provisional && !onlyLooks(workspace, own.provisional, operation, input)) named.add(own)
  const settling = [...named].flatMap((each) => (each ? [storeProvisionalName(workspace, each)] : []))
  return settling.length > 0 ? Promise.all(settling) : undefined
}

export function storeProvisionalNameOf(workspace: WorkspaceCore, name: string): Promise<unknown> | undefined {
  const session = workspace.sessions.provisional(name)
  return session && storeProvisionalName(workspace, session)
}

export async function storeProvisionalName(workspace: WorkspaceCore, session: Session): Promise<void> {
  const { provisional } = session
  if (!provisional) return
  provisional.storing ??= registerProvisionalName(workspace, session, provisional)
  try {
    await provisional.storing
  } finally {
    provisional.storing = undefined
  }
}

async function registerProvisionalName(workspace: WorkspaceCore, session: Session, provisional: ProvisionalName) {
  const registered = await register(workspace, session, provisional.profile, { isNameGiven: true })
  provisional.onStored?.(registered)
  return registered
}

function onlyLooks(
  workspace: WorkspaceCore,
  provisional: ProvisionalName,
  operation: OperationName,
  input: object,
): boolean {
  const { needsNoStoredAgent } = operations[operation] as OperationRule
  if (needsNoStoredAgent === 'always') return true
  // To look into an empty inbox, an agent need not be stored. It must be stored to get messages sent to everybody, to wait for messages, or to enter a channel.
  const isPlain = !('wait' in input) && !('channel' in input)
  return needsNoStoredAgent === 'at inbox' && isPlain && messagesToEverybodySince(workspace, provisional) === 0
}

function namesIn(input: object): string[] {
  return Object.values(input)
    .flat()
    .filter((value): value is string => typeof value === 'string')
}

function lastMessageNumber({ store }: WorkspaceCore, conversation: string): number {
  return store.view.lastNumber(conversation) ?? 0
}
