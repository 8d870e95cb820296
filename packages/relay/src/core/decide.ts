// The table of rules: which function decides which command.

import * as actions from './actions.ts'
import * as agents from './agents.ts'
import * as approvals from './approvals.ts'
import * as brief from './brief.ts'
import * as channels from './channels.ts'
import * as claims from './claims.ts'
import * as homes from './homes.ts'
import * as inbox from './inbox.ts'
import * as messages from './messages.ts'
import * as needs from './needs.ts'
import * as notices from './notices.ts'
import * as runs from './runs.ts'
import * as spend from './spend.ts'
import type { Command, Verdict } from './verdict.ts'
import type { View } from './view.ts'
import * as workers from './workers.ts'
import * as workspaces from './workspaces.ts'

/** Rules for the commands of the operations table, and for commands that only the daemon gives, such as `workspace.begin` and `inbox.let-go`. */
const rules = {
  'workspace.begin': workspaces.beginWorkspace,
  'workspace.rotate-key': workspaces.rotateKey,
  'workspace.set-policy': workspaces.setPolicy,
  'agent.register': agents.register,
  'agent.revoke': agents.revoke,
  'agent.retire': agents.retire,
  'agent.home': homes.moveAgentHome,
  'agent.brief': brief.recordBrief,
  'channel.create': channels.create,
  'channel.join': channels.join,
  'channel.leave': channels.leave,
  'channel.remove': channels.remove,
  'message.send': messages.send,
  'message.react': messages.react,
  'inbox.take': inbox.takeMessages,
  'inbox.offer': inbox.offerMessages,
  'inbox.read': inbox.markRead,
  'inbox.let-go': inbox.releaseHolds,
  'inbox.keep': inbox.extendHolds,
  'action.register': actions.offer,
  'action.withdraw': actions.withdraw,
  'action.invoke': actions.invoke,
  'action.answer': actions.answer,
  'action.expire': actions.expire,
  'worker.spawn': workers.spawn,
  'worker.release': workers.release,
  'worker.pause': workers.pause,
  'worker.resume': workers.resume,
  'worker.interrupt': workers.interrupt,
  'worker.issue-token': workers.issueToken,
  'worker.report': workers.report,
  'worker.sweep': workers.recordWorktreeRemovals,
  'run.start': runs.start,
  'run.complete': runs.complete,
  'run.stop': runs.stop,
  'claim.edit': claims.claimEditedFiles,
  'claim.add': claims.claimByHand,
  'claim.drop': claims.dropClaims,
  'claim.end': claims.endClaims,
  'claim.renew': claims.renewClaims,
  'approval.open': approvals.open,
  'approval.answer': approvals.answer,
  'approval.close': approvals.close,
  'need.dismiss': needs.dismiss,
  'notice.ask': notices.askNotice,
  'notice.drop': notices.dropNotice,
  'notice.tell': notices.tellNotice,
  'spend.note': spend.recordSpend,
} as const

export type RuleName = keyof typeof rules
export const ruleNames = Object.keys(rules) as RuleName[]
export type RuleInput<R extends RuleName> = Parameters<(typeof rules)[R]> extends [View, Command<infer I>] ? I : never

export type Decide<R extends RuleName> = (view: View, command: Command<RuleInput<R>>) => Verdict

export function ruleOf<R extends RuleName>(rule: R): Decide<R> {
  return rules[rule] as Decide<R>
}
