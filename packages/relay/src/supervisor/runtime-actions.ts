// What the daemon itself offers as actions: hiring, releasing, pausing and resuming workers, for hosts that know only generated tools.
// The caller is who hires: whatever an agent may do with workers by an operation, it may do here, and no more.

import { daemonName, type Invocation, operations, type Worker } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { parse } from '../broker/dispatch.ts'
import type { Session } from '../broker/sessions.ts'
import type { Workspace } from '../broker/workspace.ts'
import { refusalOf } from '../refusal-error.ts'

/** A worker has a second to show that it lives, and a release up to half a minute until nothing of it is left. */
const timeoutMs = 60_000

const offers = {
  'agent.create': { op: 'worker.spawn', description: 'Start a worker of yours: a CLI agent in its own terminal.' },
  'agent.release': { op: 'worker.release', description: 'End a worker and everything it started.' },
  'agent.pause': { op: 'worker.pause', description: 'Stop a worker where it is; its mail waits.' },
  'agent.resume': { op: 'worker.resume', description: 'Let a paused worker go on.' },
} as const

type Offer = keyof typeof offers

/** For as long as the workspace is open. */
export async function offerRuntimeActions(workspace: Workspace): Promise<void> {
  const { sessions, actions, ids } = workspace
  const session = sessions.open('owner')
  sessions.bind(session, daemonName)
  const waiting = { isReady: () => true, end: () => {} }
  actions.follow(session, { ...waiting, item: (item) => void serve(workspace, session, item as Invocation) })
  // Together: one commit, not four, for every workspace that a daemon opens at its start.
  await Promise.all(
    (Object.keys(offers) as Offer[]).map((name) => {
      const { op, description } = offers[name]
      const inputSchema = z.toJSONSchema(operations[op].input, { io: 'input' }) as Record<string, unknown>
      const asking = { session, by: daemonName, id: ids('d'), abandoned: session.ended }
      return actions.register(asking, { name, description, inputSchema, timeoutMs })
    }),
  )
}

async function serve(workspace: Workspace, session: Session, { invocation, action, input, caller }: Invocation) {
  const asking = { session, by: daemonName, id: `${invocation}/answer`, abandoned: session.ended }
  const answer = await work(workspace, session, action as Offer, input, caller.name, invocation).then(
    (output) => ({ invocation, output }),
    (error) => ({ invocation, error: errorOf(error) }),
  )
  // Too late, or the daemon stops: then nobody waits for it.
  await workspace.actions.answer(asking, answer).catch(() => {})
}

/** Async, so that input that does not parse is an answer too: thrown into the committing engine it would end the daemon. */
async function work(
  { workers }: Workspace,
  session: Session,
  action: Offer,
  input: unknown,
  by: string,
  id: string,
): Promise<{ worker: Worker }> {
  const { op } = offers[action]
  const asking = { session, by, id, abandoned: session.ended }
  if (op === 'worker.spawn') return workers.spawn(asking, parse(op, input))
  return workers.wish(op, asking, parse(op, input))
}

function errorOf(error: unknown): { code: 'invalid_input' | 'permission_denied' | 'handler_failed'; message: string } {
  const { code, message } = refusalOf(error)
  if (code === 'input.invalid') return { code: 'invalid_input', message }
  return { code: code === 'worker.not-yours' ? 'permission_denied' : 'handler_failed', message }
}
