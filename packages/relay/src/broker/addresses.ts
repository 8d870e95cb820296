// Addresses that name another workspace of this daemon: `frontend:Designer`, `frontend:lead`, `frontend:*`, `*:*`.

import { type ParsedInputOf, type RefusalCode, refusal } from '@agent-relay/sdk/protocol'
import { leadOf } from '../core/agents.ts'
import { broadcast, directKey, isChannel } from '../core/conversations.ts'
import { mayWrite } from '../core/workspaces.ts'
import { RefusalError } from '../refusal-error.ts'
import type { Session } from './sessions.ts'
import type { Workspace } from './workspace.ts'

/** The workspaces that this daemon has open. */
export interface Neighbours {
  find(name: string): Workspace | undefined
  all(): Workspace[]
}

/** The owner's socket, or the key shown over the network. */
export function mayWriteAbroad({ door, shown }: Session): boolean {
  return door === 'owner' || shown.keyHash !== undefined
}

/** Over the network only those whose policy lists the sender's workspace: the others are as if they were not there. */
export function withinReach(
  { workspace: home, neighbours }: { workspace: Workspace; neighbours: Neighbours },
  { door }: Session,
): Neighbours {
  if (door === 'owner') return neighbours
  const takes = (other: Workspace) => other === home || mayWrite(other.store.view.policy(), home.name)
  return {
    find: (name) => [neighbours.find(name)].find((other) => other && takes(other)),
    all: () => neighbours.all().filter(takes),
  }
}

/** Refuses whom the network door does not let out. A workspace that is not there and one that is closed get the same answer. */
export function mustReach(session: Session, home: Workspace, reach: Neighbours, to: string): void {
  if (session.door === 'owner') return
  if (!mayWriteAbroad(session)) {
    const why = 'other workspaces can be written to on the local socket, or with the workspace key.'
    throw new RefusalError('auth.denied', { why })
  }
  const { workspace } = outward(to) as { workspace: string }
  if (workspace === '*' || reach.find(workspace)) return
  const why =
    `no workspace "${workspace}" takes messages from ${home.name}. Its owner may allow it: ` +
    `agent-relay workspace policy set --writers ${home.name} --project ${workspace}`
  throw new RefusalError('auth.denied', { why })
}

export interface Away {
  to: string
  code: RefusalCode
  message: string
}

export interface WideOutcome {
  id: string
  seq: number
  to: string
  away: string[]
  failed?: Away[]
}

/** Undefined where the address names no workspace: it stays inside the sender's own. */
export function outward(to: string | string[]): { workspace: string; rest: string } | undefined {
  const colon = typeof to === 'string' ? to.indexOf(':') : -1
  if (typeof to !== 'string' || colon < 0) return undefined
  return { workspace: to.slice(0, colon), rest: to.slice(colon + 1) }
}

/** Without the sender's own workspace in front, and a lead by its name, so that a wait knows whom it awaits. */
export function resolved(to: string | string[], home: Workspace, neighbours: Neighbours): string | string[] {
  const address = outward(to)
  if (!address) return to
  const target = address.workspace === home.name ? home : neighbours.find(address.workspace)
  const lead = target && address.rest === 'lead' ? leadOf(target.store.view)?.name : undefined
  const rest = lead ?? address.rest
  return target === home ? rest : `${address.workspace}:${rest}`
}

/** One entry in every target, all under one id; what could not be reached is named, and only if nothing was, refused. */
export async function sendWide(
  home: Workspace,
  neighbours: Neighbours,
  by: string,
  input: ParsedInputOf<'message.send'>,
  cause: string,
): Promise<WideOutcome> {
  const to = input.to as string
  const { workspace, rest } = outward(to) as { workspace: string; rest: string }
  if (workspace === '*' && rest !== '*') throw new RefusalError('workspace.unknown', { workspace })
  const targets = workspace === '*' ? neighbours.all() : [neighbours.find(workspace) ?? workspace]
  const outcome: WideOutcome = { id: idOf(targets, home, by, cause), seq: home.store.journal.lastSeq, to, away: [] }
  const failed: Away[] = []
  for (const target of targets) {
    const name = typeof target === 'string' ? target : target.name
    const reply =
      typeof target === 'string'
        ? unknownWorkspace(target)
        : await sendTo(target, home, by, input, rest, cause, outcome)
    if ('refusal' in reply)
      failed.push({ to: `${name}:${rest}`, code: reply.refusal.code, message: reply.refusal.message })
  }
  if (failed.length === targets.length) {
    const [only] = failed
    if (failed.length === 1 && only) throw new RefusalError({ ...refusal('message.undelivered'), ...only, details: {} })
    throw new RefusalError('message.undelivered', { failures: failed.map(({ message }) => message) })
  }
  return failed.length > 0 ? { ...outcome, failed } : outcome
}

async function sendTo(
  target: Workspace,
  home: Workspace,
  by: string,
  input: ParsedInputOf<'message.send'>,
  rest: string,
  cause: string,
  outcome: WideOutcome,
) {
  // A lead who is there was named before: nobody is there yet.
  if (rest === 'lead' && !target.store.view.agent(rest))
    return { refusal: refusal('agent.unknown', { name: `${target.name}:lead` }) }
  const isHome = target === home
  // A message is known only where it is stored, so a reply travels as a thread of that message's name.
  const thread = input.replyTo ?? input.thread
  const { body, kind } = input
  const reply = await target.engine.submit({
    rule: 'message.send',
    input: { to: rest, body, kind, thread },
    by: isHome ? by : `${home.name}:${by}`,
    cause,
    mint: outcome.id,
  })
  const isAgent = rest !== broadcast && !isChannel(rest)
  if (!('refusal' in reply) && isAgent && !target.sessions.isLive(rest)) outcome.away.push(`${target.name}:${rest}`)
  return reply
}

/** The id of an earlier attempt, if any target has seen one; else a new one. */
function idOf(targets: (Workspace | string)[], home: Workspace, by: string, cause: string): string {
  for (const target of targets) {
    if (typeof target === 'string') continue
    const before = target.store.journal.answered(target === home ? by : `${home.name}:${by}`, cause)
    if (before) return before.outcome.id as string
  }
  return home.ids('m')
}

function unknownWorkspace(workspace: string) {
  return { refusal: refusal('workspace.unknown', { workspace }) }
}

/** Where the answers to a wide message arrive: the sender's own workspace, from the foreign address. */
export function awaitedFrom(home: Workspace, by: string, to: string) {
  const conversation = directKey([by, to])
  const { view, journal } = home.store
  return { conversation, afterSeq: journal.lastSeq, afterN: view.lastNumber(conversation) ?? 0 }
}
