// Rules for actions, the functions that programs offer to agents: which names a program may offer, who may call an action, and how a call ends. Each call ends
// once.
//
//   running → completed (ok | invalid_input | invalid_output | handler_failed: reported by the provider)
//   running → completed (timeout: no answer in time | provider_offline: the provider's session ended)
//
// A call that cannot begin (unknown_action, permission_denied, provider_offline) is recorded too: every call has an entry.

import {
  type ActionErrorCode,
  type ActionRegistered,
  daemonName,
  type Fact,
  limits,
  type ParsedInputOf,
  relayToolNames,
  toolCharsMax,
  toolNameOf,
} from '@agent-relay/sdk/protocol'
import { isOnOtherMachine } from './homes.ts'
import { mayCallAction } from './sight.ts'
import { type Command, recordFacts, refuse, type Verdict } from './verdict.ts'
import type { InvocationRow, View } from './view.ts'

/**
 * Agents see the actions of a program that has shown one of these credentials without asking for them. If all actions were shown, anybody who reaches a port
 * could write into every agent's context.
 */
export const autoListedAuthorities = ['owner', 'key'] as const

export interface OfferInput extends ParsedInputOf<'action.register'> {
  /** The credential that the provider's session has shown. If unset, agents see the action only when they ask for it. */
  authority?: ActionRegistered['authority']
}

export function offer(view: View, { input, by, session, world }: Command<OfferInput>): Verdict {
  const { name, timeoutMs = limits.actionMsDefault, ...rest } = input
  const tool = toolNameOf(name)
  if (tool.length > toolCharsMax) return refuse('action.name-long', { name, charsMax: toolCharsMax })
  // Refuses names of our own tools to programs. The daemon may use one: its action agent.status is listed only where the tool of that name is not.
  if (relayToolNames.has(tool) && by !== daemonName)
    return refuse('action.name-taken', { name, tool, by: "the relay's own" })
  const other = view.actions.byTool(tool)
  // A session may register its own action again, but not a second action with the same tool name, which would silently replace the first.
  const isOwn = other?.session === session && other?.name === name
  if (other && !isOwn && (world.liveSession(other.session) !== undefined || isOnOtherMachine(view, world, other))) {
    return refuse('action.name-taken', { name, tool, by: `offered by ${other.provider} as ${other.name}` })
  }
  const facts: Fact[] =
    other && other.name !== name ? [{ type: 'action.withdrawn', name: other.name, provider: other.provider }] : []
  const place = { session: session as string, machine: world.machine }
  facts.push({ type: 'action.registered', name, provider: by, ...place, timeoutMs, ...rest })
  return recordFacts(facts, { name, tool })
}

export interface WithdrawInput {
  /** The only action to withdraw. If unset, all actions of the sessions are withdrawn. */
  name?: string
  sessions?: string[]
}

/** Withdraws the actions of the given sessions (by default the caller's own) and ends the running calls of those actions. */
export function withdraw(view: View, command: Command<WithdrawInput>): Verdict {
  const { input, by, session } = command
  const sessions = new Set(input.sessions ?? [session])
  const gone = [...view.actions.all()].filter(
    (action) => sessions.has(action.session) && (input.name ?? action.name) === action.name,
  )
  if (input.name !== undefined && gone.length === 0) return refuse('action.unknown', { name: input.name })
  const names = new Set(gone.map(({ name }) => name))
  const facts: Fact[] = gone.map(({ name, provider }) => ({ type: 'action.withdrawn', name, provider: provider ?? by }))
  for (const running of view.actions.running()) {
    const isGone =
      running.session !== undefined && sessions.has(running.session) && (!input.name || names.has(running.action))
    if (isGone) facts.push(ended(command, running, 'provider_offline', 'The program that offers this action has gone.'))
  }
  return recordFacts(facts, { withdrawn: gone.length })
}

export interface InvokeInput {
  name: string
  /** The call's input as JSON text, in which form it is stored and handed to the provider. */
  inputJson: string
  inputBytes: number
  timeoutMs?: number
}

export function invoke(view: View, command: Command<InvokeInput>): Verdict {
  const { input, by, at, mint, world } = command
  const action = view.actions.byName(input.name) ?? view.actions.byTool(toolNameOf(input.name))
  const name = action?.name ?? input.name
  const timeoutMs = Math.min(input.timeoutMs ?? Number.POSITIVE_INFINITY, action?.timeoutMs ?? limits.actionMsDefault)
  const invoked: Fact = {
    type: 'action.invoked',
    id: mint,
    action: name,
    caller: by,
    provider: action?.provider,
    session: action?.session,
    inputBytes: input.inputBytes,
    until: at + timeoutMs,
    machine: action?.machine,
  }
  const running = { id: mint, action: name, caller: by, at }
  const fail = (code: ActionErrorCode, message: string) =>
    recordFacts([invoked, ended(command, running, code, message)], { id: mint }, input.inputJson)
  if (!action) return fail('unknown_action', `There is no action "${input.name}". See actions_list.`)
  if (!mayCallAction(action, by)) return fail('permission_denied', `${by} may not call ${name}.`)
  if (world.liveSession(action.session) === undefined)
    return fail('provider_offline', `${action.provider}, who offers ${name}, has gone.`)
  return recordFacts([invoked], { id: mint, until: at + timeoutMs, timeoutMs }, input.inputJson)
}

export interface InvocationAnswerInput {
  invocation: string
  outputJson?: string
  outputBytes?: number
  error?: { code: ActionErrorCode; message: string }
}

/** Records a provider's answer to a call. Only the first answer counts; an answer to a call that has ended changes nothing. */
export function answer(view: View, command: Command<InvocationAnswerInput>): Verdict {
  const { input, by } = command
  const running = view.actions.invocation(input.invocation)
  if (!running || running.provider !== by) return refuse('invocation.unknown', { invocation: input.invocation })
  if (running.isDone) return recordFacts([], { counted: false })
  const { error, outputJson, outputBytes } = input
  if (error) return recordFacts([ended(command, running, error.code, error.message)], { counted: true })
  const { id, action, caller, at } = running
  const completed: Fact = {
    type: 'action.completed',
    id,
    action,
    caller,
    ok: true,
    outputBytes,
    durationMs: Math.max(0, command.at - at),
  }
  return recordFacts([completed], { counted: true }, outputJson ?? 'null')
}

export interface ExpireInput {
  invocation: string
}

/** Ends a call that its provider did not answer in time. The daemon gives this command. */
export function expire(view: View, command: Command<ExpireInput>): Verdict {
  const running = view.actions.invocation(command.input.invocation)
  if (!running || running.isDone) return recordFacts([])
  return recordFacts([
    ended(command, running, 'timeout', `${running.provider ?? 'The provider'} did not answer in time.`),
  ])
}

function ended(
  { at }: Command<unknown>,
  { id, action, caller, at: since }: Pick<InvocationRow, 'id' | 'action' | 'caller' | 'at'>,
  code: ActionErrorCode,
  message: string,
): Fact {
  return { type: 'action.completed', id, action, caller, ok: false, code, message, durationMs: Math.max(0, at - since) }
}
