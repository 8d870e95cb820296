// Judges an entry of a workspace that several machines share: may the machine that appended the entry append each of its facts? Every machine judges each entry
// by the entries before it, so that all machines come to the same verdict.

import { daemonName, type Entry, type Fact } from '@agent-relay/sdk/protocol'
import { generalChannel, isFromOtherWorkspace } from '../conversations.ts'
import type { View } from '../view.ts'
import type { AppendedEntry } from './row.ts'
import { factRowOf } from './table.ts'

/** What a machine was not allowed to append: a fact of this type or, if `type` is unset, anything in the name of this agent. */
export interface Objection {
  agent?: string
  type?: Fact['type']
}

export function findObjection(
  view: View,
  machine: string,
  { by, facts }: Pick<Entry, 'by' | 'facts'>,
  homeAt: AppendedEntry['homeAt'] = () => undefined,
): Objection | undefined {
  // COMPAT(0.1): in format 1 any machine may speak for an agent without a home, and only a few types of facts are judged.
  const isStrict = view.format() > 1
  const speaksFor = (agent: string) => {
    const home = view.home(agent)
    if (home?.machine === machine || (!isStrict && home === undefined)) return true
    return facts.some((fact) => fact.type === 'agent.homed' && fact.agent === agent && fact.machine === machine)
  }
  if (view.isRevoked(machine)) return {}
  if (by !== daemonName && !isFromOtherWorkspace(by) && !speaksFor(by)) return { agent: by }
  const actsFor = (other: string | undefined) => other === machine || (other !== undefined && view.isRevoked(other))
  const entry: AppendedEntry = { machine, view, by, facts, speaksFor, actsFor, homeAt }
  const wrong = facts.find((fact) => !(isStrict ? factRowOf(fact).mayAppend : mayAppendInFormat1)(fact, entry))
  return wrong && { type: wrong.type, ...agentIn(wrong, speaksFor) }
}

/** The types of facts that are judged in format 1, each with its field that names the agent in whose name the machine speaks. */
const speakersOfFormat1: { readonly [T in Fact['type']]?: string } = {
  'message.created': 'from',
  'delivery.offered': 'agent',
  'delivery.held': 'agent',
  'delivery.released': 'agent',
  'delivery.read': 'agent',
  'reaction.added': 'agent',
  'reaction.removed': 'agent',
  'agent.briefed': 'agent',
  'action.registered': 'provider',
  'action.invoked': 'caller',
}

function mayAppendInFormat1(fact: Fact, by: AppendedEntry): boolean {
  // No machine may make itself the owner of a workspace that has begun.
  if (fact.type === 'workspace.raised' || fact.type === 'workspace.owned')
    return by.view.lastNumber(generalChannel) === undefined
  // These types of facts are younger than format 1: no machine may append them to a workspace of that format.
  if (['workspace.restored', 'machine.revoked', 'machine.admitted'].includes(fact.type)) return false
  if (fact.type === 'agent.homed' || fact.type === 'deliveries.noted') return factRowOf(fact).mayAppend(fact, by)
  const field = speakersOfFormat1[fact.type]
  return field === undefined || by.speaksFor((fact as unknown as Record<string, string>)[field] as string)
}

/** Returns the agent for which the machine may not speak, or else the agent that the fact is about. The text of a refusal names it. */
function agentIn(fact: Fact, speaksFor: (agent: string) => boolean): Pick<Objection, 'agent'> {
  const { agent, from, worker, provider, caller, parent } = fact as unknown as Record<string, unknown>
  const names = [agent, from, worker, provider, caller, parent].filter((name) => typeof name === 'string')
  const name = names.find((each) => !speaksFor(each)) ?? names[0]
  return name === undefined ? {} : { agent: name }
}
