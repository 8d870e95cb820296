// The table of facts (stored events): one row for each type of fact, and the compiler checks that none is missing. row.ts explains the columns.

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

export function factRowOf<F extends Fact>(fact: F): FactRow<F> {
  return table[fact.type] as unknown as FactRow<F>
}

/** Whether this version knows the fact's type. A later version may write other types. */
export function isKnownFact({ type }: { type: string }): boolean {
  return Object.hasOwn(table, type)
}

/** Returns the first field of a fact of a known type that fails its check. */
export function malformedField(fact: Fact): string | undefined {
  return wrongField(fact, factRowOf(fact).shape)
}

/** Returns the types of facts that have this audience. */
export function factTypesForAudience(to: Audience<Fact>['to']): Fact['type'][] {
  return factTypes.filter((type) => table[type].audience.to === to)
}

/** Whether a reader sees the fact as an event. */
export function seesFact(view: View, reader: Reader, fact: Fact): boolean {
  if (seesAll(reader)) return true
  const { audience } = factRowOf(fact)
  switch (audience.to) {
    case 'holder':
      return false
    case 'everyone':
      return audience.if?.(view, reader, fact) ?? true
    case 'agents':
      return reader.agent !== undefined && [...audience.agentNames(fact, view)].includes(reader.agent)
    case 'readers': {
      const message = view.message(audience.messageId(fact))
      return message !== undefined && sees(view, reader, 'message', message)
    }
  }
}
