// Rows of the table of facts (stored events) about actions that programs offer, and about calls of actions.

import type { ActionCompleted, ActionInvoked } from '@agent-relay/sdk/protocol'
import { daemonName } from '@agent-relay/sdk/protocol'
import { keys } from '../conflict-keys.ts'
import { mayCall } from '../sight.ts'
import { type AppendedEntry, everyone, type FactRows, namesItself } from './row.ts'
import { count, flag, json, label, listOf, maybe, oneOf, text, words } from './shape.ts'

const actionKeys = ({ name }: { name: string }) => [keys.action(name), keys.actions]
const callKeys = ({ id }: { id: string }) => [keys.call(id), keys.calls]

export const actionFacts: FactRows<'action.registered' | 'action.withdrawn' | 'action.invoked' | 'action.completed'> = {
  'action.registered': {
    shape: {
      name: label,
      provider: label,
      session: text,
      description: words,
      inputSchema: json,
      outputSchema: maybe(json),
      availableTo: maybe(listOf(label)),
      timeoutMs: count,
      authority: maybe(oneOf('owner', 'key', 'token', 'nobody')),
      machine: maybe(label),
    },
    // A machine may not register a name that another machine offers: that would lead the action's callers to the wrong machine.
    said: (fact, by) =>
      namesItself(fact, by) && (fact.provider === daemonName || by.speaksFor(fact.provider)) && isItsOwn(fact, by),
    seen: { to: 'everyone', if: (_, { agent = '' }, action) => mayCall(action, agent) },
    writes: actionKeys,
    // Pruning may delete an old registration once its session does not offer the action any more.
    over: { once: ({ name, session }, left) => left.offering(name) !== session },
  },
  'action.withdrawn': {
    shape: { name: label, provider: label },
    said: isItsOwn,
    seen: everyone,
    writes: actionKeys,
    over: 'old',
  },
  'action.invoked': {
    shape: {
      id: text,
      action: label,
      caller: label,
      provider: maybe(label),
      session: maybe(text),
      inputBytes: count,
      until: count,
      machine: maybe(label),
    },
    said: (fact, by) => by.speaksFor(fact.caller) && isAtItsMachine(fact, by),
    seen: { to: 'agents', who: ({ caller, provider }) => [caller, provider] },
    writes: callKeys,
    over: { once: ({ id }, left) => left.isCallOver(id) },
  },
  'action.completed': {
    shape: {
      id: text,
      action: label,
      caller: label,
      ok: flag,
      code: maybe(label),
      message: maybe(words),
      outputBytes: maybe(count),
      durationMs: count,
    },
    said: mayComplete,
    seen: {
      to: 'agents',
      *who({ id, caller }, known) {
        yield caller
        yield known.invocation(id)?.provider
      },
    },
    writes: callKeys,
    over: { once: ({ id }, left) => left.isCallOver(id) },
  },
}

/** Whether the machine that appended the entry offers the action, or nobody does. */
function isItsOwn({ name }: { name: string }, { view, actsFor }: AppendedEntry): boolean {
  const action = view.action(name)
  return action === undefined || actsFor(action.machine)
}

function isAtItsMachine({ action, machine }: ActionInvoked, { view }: AppendedEntry): boolean {
  return machine === view.action(action)?.machine
}

/** Whether a machine may report a call's end. The provider's machine reports answers; the caller's reports calls that could not begin or got no answer. */
function mayComplete({ id, caller, ok }: ActionCompleted, { view, facts, speaksFor, actsFor }: AppendedEntry): boolean {
  const call = view.invocation(id)
  if (!call) return !ok && facts.some((fact) => fact.type === 'action.invoked' && fact.id === id)
  if (call.caller !== caller) return false
  return actsFor(call.machine) || (!ok && speaksFor(caller))
}
