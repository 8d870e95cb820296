// Actions that the daemon itself offers: creating workers, asking for their status, releasing, pausing and resuming them. They are for hosts that know only
// generated tools. They run in the caller's own session, with its rights.

import { clisWith } from '@agent-relay/sdk/internal/clis'
import {
  type ActionErrorCode,
  daemonName,
  type Invocation,
  refusal,
  refusals,
  type Worker,
} from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { assertMayCall } from '../broker/dispatch.ts'
import { parseInput } from '../broker/operation-input.ts'
import type { Session } from '../broker/sessions/session.ts'
import type { Workspace } from '../broker/workspace.ts'
import { RefusalError, refusalTextWithoutFix, toRefusal } from '../core/refusal-error.ts'

/** Time limit of an action, in ms: a release takes up to half a minute until no process of the worker is left. */
const timeoutMs = 60_000

const named = z.object({ name: z.string().describe('Name of the worker') })
/** CLIs whose workers have our tools, so that they can write to the agent that hired them. Other CLIs are for people at a terminal. */
const clis = clisWith('worker').filter(({ worker }) => worker === 'mcp')

/** The input schemas that models see, which are shorter than the operations' own. The operations check the input again. */
const offers = {
  'agent.create': {
    op: 'worker.spawn',
    description: 'Start a worker of yours: a CLI agent in its own terminal.',
    input: named.extend({
      cli: z.enum(clis.map(({ name }) => name)).describe('CLI to run'),
      task: z.string().optional().describe('What it should do'),
      model: z.string().optional().describe('Model override'),
      cwd: z.string().optional().describe('Working directory'),
      worktree: z.boolean().optional().describe('In a git worktree of its own'),
      args: z.array(z.string()).optional().describe('More arguments of the CLI'),
    }),
  },
  'agent.release': {
    op: 'worker.release',
    description: 'End a worker and everything it started.',
    input: named.extend({ reason: z.string().optional().describe('Why, for the record') }),
  },
  'agent.status': { op: 'worker.list', description: 'What a worker is doing: its status and why.', input: named },
  'agent.pause': { op: 'worker.pause', description: 'Stop a worker where it is; its mail waits.', input: named },
  'agent.resume': { op: 'worker.resume', description: 'Let a paused worker go on.', input: named },
} as const

type Offer = keyof typeof offers

/** Offers the actions until the workspace is closed. */
export async function offerDaemonActions(workspace: Workspace): Promise<void> {
  const { sessions, actions, ids } = workspace
  const session = sessions.openForDaemon(daemonName)
  const waiting = { isReady: () => true, end: () => {} }
  actions.follow(session, { ...waiting, item: (item) => void serveInvocation(workspace, session, item as Invocation) })
  // All actions are registered in one commit, since a daemon opens many workspaces at its start.
  await Promise.all(
    (Object.keys(offers) as Offer[]).map((name) => {
      const { description, input } = offers[name]
      const inputSchema = z.toJSONSchema(input, { io: 'input' }) as Record<string, unknown>
      const asking = { session, by: daemonName, id: ids('d'), abandoned: session.ended }
      return actions.register(asking, { name, description, inputSchema, timeoutMs })
    }),
  )
}

async function serveInvocation(workspace: Workspace, session: Session, call: Invocation): Promise<void> {
  const { invocation } = call
  const answer = await runAction(workspace, call, session.ended).then(
    (output) => ({ invocation, output }),
    (error) => ({ invocation, error: errorOf(error, call.action) }),
  )
  const asking = { session, by: daemonName, id: `${invocation}/answer`, abandoned: session.ended }
  // If this fails, the call has ended or the daemon is stopping, and nobody waits for the answer.
  await workspace.actions.answer(asking, answer).catch(() => {})
}

/** Runs one call of an action. It is async so that an error about invalid input becomes a rejection: thrown at once, it would end the daemon. */
async function runAction(workspace: Workspace, call: Invocation, abandoned: AbortSignal): Promise<{ worker: Worker }> {
  const { workers, actions } = workspace
  const { op } = offers[call.action as Offer]
  const session = actions.callerOf(call.invocation)
  if (!session) throw new RefusalError('wait.cancelled')
  assertMayCall(workspace, session.standing, op)
  const asking = { session, by: call.caller.name, id: call.invocation, abandoned }
  if (op === 'worker.list') return { worker: workers.find(session, parseInput('worker.screen', call.input).name) }
  if (op === 'worker.spawn') return workers.spawn(asking, parseInput(op, call.input))
  return workers.wishes.submit(op, asking, parseInput(op, call.input))
}

/** Returns an action's error code by the HTTP status of the refusal: invalid input, permission denied, or otherwise a failed handler. */
function errorOf(error: unknown, action: string): { code: ActionErrorCode; message: string } {
  const refused = toRefusal(error)
  const { http } = refusals[refused.code]
  // The CLI's name is valid, but its program is not installed, so the input is not at fault.
  const code = refused.code === 'cli.not-installed' ? 'handler_failed' : (codesByHttpStatus[http] ?? 'handler_failed')
  // The text names the action, since the caller does not know the operation behind it.
  if (refused.code !== 'input.invalid') return { code, message: refusalTextWithoutFix(refused) }
  return { code, message: refusalTextWithoutFix(refusal('input.invalid', { ...refused.details, operation: action })) }
}

const codesByHttpStatus: Record<number, ActionErrorCode> = {
  400: 'invalid_input',
  401: 'permission_denied',
  403: 'permission_denied',
  404: 'invalid_input',
}
