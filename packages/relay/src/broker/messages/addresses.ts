// Sends messages to addresses in other workspaces of this daemon: `frontend:Designer`, `frontend:lead`, `frontend:*`, `*:*`.

import { type OutputOf, type ParsedInputOf, type Refusal, type RefusalCode, refusal } from '@agent-relay/sdk/protocol'
import { findLead } from '../../core/agents.ts'
import { broadcast, directKey, isChannel } from '../../core/conversations.ts'
import { RefusalError, refusalTextWithoutFix } from '../../core/refusal-error.ts'
import { type CallContext, causeOf, type WorkspaceCore } from '../call.ts'
import { reuseRefusal } from '../engine.ts'
import {
  describeUnreachable,
  findClosedInterfaces,
  isConnected,
  unreachableMachineOf,
} from '../presence/availability.ts'
import { mayWriteToOtherWorkspaces, type Neighbours } from '../presence/other-workspaces.ts'
import { storeProvisionalNameOf } from '../presence/provisional-names.ts'
import type { Session } from '../sessions/session.ts'

/** Refuses a sender that may not write to the other workspace over the network. The text does not tell whether such a workspace exists. */
export async function assertMayWriteTo(
  session: Session,
  home: WorkspaceCore,
  reach: Neighbours,
  to: string,
): Promise<void> {
  if (!mayWriteToOtherWorkspaces(session)) {
    const why = 'other workspaces can be written to on the local socket, or with the workspace key.'
    throw new RefusalError('auth.denied', { why })
  }
  const { workspace } = workspaceAddress(to) as { workspace: string }
  if (workspace === '*' || (await reach.visit(workspace, () => true))) return
  const why =
    `no workspace "${workspace}" takes messages from ${home.name}. Its owner may allow it: ` +
    `agent-relay workspace policy set --writers ${home.name} --project ${workspace}`
  throw new RefusalError('auth.denied', { why })
}

type SendToWorkspacesOutcome = Omit<OutputOf<'message.send'>, 'reply'>

/** Splits an address into a workspace and the rest; undefined if the address names no workspace and so means the sender's own. */
export function workspaceAddress(to: string | string[]): { workspace: string; rest: string } | undefined {
  const colon = typeof to === 'string' ? to.indexOf(':') : -1
  if (typeof to !== 'string' || colon < 0) return undefined
  return { workspace: to.slice(0, colon), rest: to.slice(colon + 1) }
}

/**
 * Returns the address without the sender's own workspace in front, and with the agent's name in place of `lead` or a handle: a sender that waits for the reply
 * needs the name.
 */
export function resolveAddress(
  to: string | string[],
  home: WorkspaceCore,
  neighbours: Neighbours,
): string | string[] | Promise<string> {
  const address = workspaceAddress(to)
  if (!address) return typeof to === 'string' ? nameForHandle(home, to) : to
  const { workspace, rest } = address
  const named = (other: WorkspaceCore) =>
    rest === 'lead'
      ? (findLead(other.store.view, (name) => isConnected(other, name))?.name ?? rest)
      : nameForHandle(other, rest)
  // For the sender's own workspace no promise is returned: during an `await` the sender's next message could overtake this one.
  if (workspace === home.name) return named(home)
  const isPlain = rest !== 'lead' && !rest.startsWith('@')
  return isPlain ? to : neighbours.visit(workspace, named).then((name = rest) => `${workspace}:${name}`)
}

/**
 * Returns the agent's name for an address: `@planner` is the agent with this handle. No agent's name begins with `@`, so a name is never taken for a handle.
 */
function nameForHandle({ store: { view } }: WorkspaceCore, to: string): string {
  if (!to.startsWith('@')) return to
  const bare = (handle: string | undefined) => handle?.replace(/^@/, '')
  return view.agentsNamedLike(to).find(({ handle }) => bare(handle) === bare(to))?.name ?? to
}

/**
 * Sends a message to other workspaces: writes one entry in each, all with one id. Workspaces that could not be reached are named in the outcome; if none could
 * be, the send is refused.
 */
export async function sendToWorkspaces(
  home: WorkspaceCore,
  neighbours: Neighbours,
  asking: CallContext,
  input: ParsedInputOf<'message.send'>,
): Promise<SendToWorkspacesOutcome> {
  const to = input.to as string
  const { workspace, rest } = workspaceAddress(to) as { workspace: string; rest: string }
  if (workspace === '*' && rest !== '*') throw new RefusalError('workspace.unknown', { workspace })
  // The sender's own workspace comes first: if an earlier attempt of this send reached it, it has the message's id.
  const others = workspace === '*' ? neighbours.names().filter((name) => name !== home.name) : [workspace]
  const targets = workspace === '*' ? [home.name, ...others] : others
  const outcome: SendToWorkspacesOutcome = { id: '', seq: home.store.journal.lastSeq, to, away: [] }
  const failed: { to: string; code: RefusalCode; message: string }[] = []
  let tried = 0
  for (const name of targets) {
    const stored = neighbours.visit(name, (target) => sendToWorkspace(target, home, asking, input, rest, outcome))
    const reached = await stored.catch(refusalReply)
    // With `*:`, leaves out a workspace that cannot be reached: it was removed, or takes no messages from the sender.
    if (!reached && workspace === '*') continue
    tried++
    const reply = reached ?? { refusal: refusal('workspace.unknown', { workspace: name }) }
    if ('refusal' in reply)
      failed.push({ to: `${name}:${rest}`, code: reply.refusal.code, message: failureText(reply.refusal) })
  }
  if (failed.length === tried) {
    const [only] = failed
    if (failed.length === 1 && only) throw new RefusalError({ ...refusal('message.undelivered'), ...only, details: {} })
    throw new RefusalError('message.undelivered', { failures: failed.map(({ message }) => message) })
  }
  return failed.length > 0 ? { ...outcome, failed } : outcome
}

async function sendToWorkspace(
  target: WorkspaceCore,
  home: WorkspaceCore,
  asking: CallContext,
  input: ParsedInputOf<'message.send'>,
  rest: string,
  outcome: SendToWorkspacesOutcome,
) {
  // Only a workspace without a lead still gets `lead` here: otherwise `resolveAddress` has replaced it by a name.
  if (rest === 'lead' && !target.store.view.agent(rest))
    return { refusal: refusal('agent.unknown', { name: `${target.name}:lead` }) }
  await storeProvisionalNameOf(target, rest)
  outcome.id ||= messageIdFor(target, home, asking)
  const isHome = target === home
  // A message is known only in the workspace where it is stored. A reply from another workspace is therefore sent into a thread with that message's id.
  const thread = input.replyTo ?? input.thread
  const { body, kind } = input
  const reply = await target.engine.submit({
    rule: 'message.send',
    input: { to: rest, body, kind, thread },
    by: isHome ? asking.by : `${home.name}:${asking.by}`,
    ...causeOf(asking),
    newId: outcome.id,
  })
  if ('refusal' in reply) return { refusal: withWorkspaceNames(target, reply.refusal) }
  const isAgent = rest !== broadcast && !isChannel(rest)
  const lost = isAgent && unreachableMachineOf(target, rest)
  if (lost) outcome.unreachable = [describeUnreachable(`${target.name}:${rest}`, lost)]
  else if (isAgent && !isConnected(target, rest)) outcome.away.push(`${target.name}:${rest}`)
  const shut = isAgent ? findClosedInterfaces(target, rest) : []
  if (shut.length > 0) outcome.notReached = shut.map(({ why }) => ({ name: `${target.name}:${rest}`, why }))
  return reply
}

/** Puts the workspace in front of the agents' names in a refusal, as the sender would have to write them: `frontend:Designer`. */
function withWorkspaceNames({ name: workspace }: WorkspaceCore, refused: Refusal): Refusal {
  const { name, nearest } = refused.details ?? {}
  if (refused.code !== 'agent.unknown') return refused
  const there = Array.isArray(nearest) ? nearest.map((each) => `${workspace}:${each}`) : []
  return refusal('agent.unknown', { name: `${workspace}:${name}`, nearest: there })
}

/** Returns the message id that an earlier attempt of this send used, if the target has seen one; otherwise a new id. */
function messageIdFor(target: WorkspaceCore, home: WorkspaceCore, { by, id, digest }: CallContext): string {
  const before = target.store.journal.recordedAnswer(target === home ? by : `${home.name}:${by}`, id)
  if (!before) return home.ids('m')
  // Refuses the whole send if its call id was used for another message: a workspace that lacks that message would store this one under that message's id.
  const reused = reuseRefusal(before, { rule: 'message.send', cause: id, digest })
  if (reused) throw new ReusedIdError(reused)
  return before.outcome.id as string
}

/** A refusal that ends a whole send to several workspaces; any other refusal concerns one of them. */
class ReusedIdError extends RefusalError {}

/** Returns the refusal's text without its fix: the fix names tools, which would look in the sender's own workspace. */
function failureText(refused: Refusal): string {
  return refused.code === 'workspace.unknown' ? refused.message : refusalTextWithoutFix(refused)
}

/** Returns the refusal of one workspace, such as one that cannot be opened, instead of throwing it, so that the send to other workspaces goes on. */
function refusalReply(error: unknown): { refusal: Refusal } {
  if (!(error instanceof RefusalError) || error instanceof ReusedIdError) throw error
  return { refusal: error.refusal }
}

/**
 * Returns where to look for the awaited answer: an answer from another workspace is stored in the sender's own, in the conversation with the address that the
 * message was sent to.
 */
export function awaitedReplyFrom(home: WorkspaceCore, by: string, to: string) {
  const conversation = directKey([by, to])
  const { view, journal } = home.store
  return { conversation, afterSeq: journal.lastSeq, afterN: view.lastNumber(conversation) ?? 0 }
}
