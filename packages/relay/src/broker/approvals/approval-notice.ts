// Messages about approvals: to the hirer of an agent that waits for an approval, and to an agent whose CLI does not tell its model why the approval was denied.

import { cleanLine } from '@agent-relay/sdk/internal/clean'
import { permissionPhrase } from '@agent-relay/sdk/internal/permission-text'
import { daemonName, limits } from '@agent-relay/sdk/protocol'
import { type AnswerInput, delegationText, isDelegationInForce } from '../../core/approvals.ts'
import type { ApprovalRow, View } from '../../core/view.ts'

/** Maximum length, in characters, of an approval's input in messages and in lists of agents. */
const shortCharsMax = 80

type BlockingApproval = Pick<ApprovalRow, 'id' | 'agent' | 'tool' | 'input'>

/**
 * Makes the message to whoever hired the blocked agent, with a cause (command id) that makes it unique across machines. Undefined if nobody hired the agent.
 */
export function approvalNotice(view: View, { id, agent, tool, input }: BlockingApproval, now: number, where = '') {
  const parent = view.agent(agent)?.parent
  const hirer = parent === undefined ? undefined : view.agent(parent)
  if (!hirer) return undefined
  const isPerson = hirer.type === 'human'
  const fix = isPerson
    ? 'To answer it: agent-relay approvals'
    : 'A person has to answer it. relay_who shows when it goes on.'
  const may = view.policy().approve.find((each) => each.agent === parent && isDelegationInForce(each, now))
  const own = may ? ` You may answer for some of your workers (${delegationText(may)}): agent-relay approve ${id}` : ''
  const body = `${agent}${where} is blocked: it ${wantedActionText({ tool, input })} (${id}). ${fix}${own}`
  return { input: { to: hirer.name, body, kind: 'status' as const }, cause: `approval/${id}` }
}

/**
 * Makes the message that tells an agent why its approval was denied, for CLIs that cannot pass the reason to their model. A person or the daemon gives the
 * reason.
 */
export function denialMessage(view: View, { id, words, asker }: AnswerInput, person: string) {
  const row = view.approvals.byId(id)
  if (words === undefined || !row) return undefined
  const by = view.agent(person) ? person : daemonName
  const who = by === daemonName ? (asker?.name ?? 'A person') : 'I'
  return { input: { to: row.agent, body: `${who} denied ${id} (it ${wantedActionText(row)}): ${words}` }, by }
}

/** Returns a text about an approval such as `wants to run "npm test"` or `wants to edit src/app.ts`. */
export function wantedActionText({ tool, input }: Pick<ApprovalRow, 'tool' | 'input'>): string {
  const { wants, rest } = permissionPhrase({ tool, input })
  return cleanLine(rest === input ? `${wants} "${shortInput(input)}"` : wants)
}

export function shortInput(input: string): string {
  const line = cleanLine(input.slice(0, limits.approvalInputCharsMax))
  return line.length <= shortCharsMax ? line : `${line.slice(0, shortCharsMax - 1)}…`
}
