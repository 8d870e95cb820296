// The table of facts: one row for each kind, complete by the compiler. row.ts explains the columns.

import type { Fact } from '@agent-relay/sdk/protocol'
import { type Reader, sees, seesAll } from '../sight.ts'
import type { View } from '../view.ts'
import { actionFacts } from './actions.ts'
import { agentFacts } from './agents.ts'
import { approvalFacts } from './approvals.ts'
import { claimFacts } from './claims.ts'
import { conversationFacts } from './conversations.ts'
import { messageFacts } from './messages.ts'
import { needFacts } from './needs.ts'
import { noticeFacts } from './notices.ts'
import type { Audience, FactRow, FactRows } from './row.ts'
import { runFacts } from './runs.ts'
import { wrongField } from './shape.ts'
import { spendFacts } from './spend.ts'
import { workerFacts } from './workers.ts'
import { workspaceFacts } from './workspace.ts'

const table: FactRows<Fact['type']> = {
  ...workspaceFacts,
  ...agentFacts,
  ...conversationFacts,
  ...messageFacts,
  ...actionFacts,
  ...workerFacts,
  ...runFacts,
  ...claimFacts,
  ...approvalFacts,
  ...needFacts,
  ...noticeFacts,
  ...spendFacts,
}

export const factTypes = Object.keys(table) as Fact['type'][]

export function rowOf<F extends Fact>(fact: F): FactRow<F> {
  return table[fact.type] as unknown as FactRow<F>
}

/** Whether this version knows the type; facts of a later version may have others. */
export function isKnownFact({ type }: { type: string }): boolean {
  return Object.hasOwn(table, type)
}

/** The first field of a fact of a known type that has not the form that it must have. */
export function malformedField(fact: Fact): string | undefined {
  return wrongField(fact, rowOf(fact).shape)
}

/** The types of facts with this audience. */
export function typesTo(to: Audience<Fact>['to']): Fact['type'][] {
  return factTypes.filter((type) => table[type].seen.to === to)
}

/** Whether a reader sees the fact as an event. */
export function seesFact(view: View, reader: Reader, fact: Fact): boolean {
  if (seesAll(reader)) return true
  const { seen } = rowOf(fact)
  switch (seen.to) {
    case 'holder':
      return false
    case 'everyone':
      return seen.if?.(view, reader, fact) ?? true
    case 'agents':
      return reader.agent !== undefined && [...seen.who(fact, view)].includes(reader.agent)
    case 'readers': {
      const message = view.message(seen.of(fact))
      return message !== undefined && sees(view, reader, 'message', message)
    }
  }
}
