// The one place that decides: which rule answers which command.

import * as actions from './actions.ts'
import * as agents from './agents.ts'
import * as channels from './channels.ts'
import * as inbox from './inbox.ts'
import * as messages from './messages.ts'
import * as runs from './runs.ts'
import type { Command, Verdict } from './verdict.ts'
import type { View } from './view.ts'
import * as workers from './workers.ts'
import * as workspaces from './workspaces.ts'

/**
 * Commands of the operations table, and those that only the daemon itself gives: `workspace.begin`, `inbox.let-go`,
 * `action.expire`, `worker.report`.
 */
const rules = {
  'workspace.begin': workspaces.begin,
  'workspace.rotate-key': workspaces.rotateKey,
  'workspace.set-policy': workspaces.setPolicy,
  'agent.register': agents.register,
  'agent.revoke': agents.revoke,
  'channel.create': channels.create,
  'channel.join': channels.join,
  'channel.leave': channels.leave,
  'message.send': messages.send,
  'message.react': messages.react,
  'inbox.take': inbox.take,
  'inbox.offer': inbox.offerThese,
  'inbox.read': inbox.markRead,
  'inbox.let-go': inbox.letGo,
  'action.register': actions.offer,
  'action.withdraw': actions.withdraw,
  'action.invoke': actions.invoke,
  'action.answer': actions.answer,
  'action.expire': actions.expire,
  'worker.spawn': workers.spawn,
  'worker.release': workers.release,
  'worker.pause': workers.pause,
  'worker.resume': workers.resume,
  'worker.issue-token': workers.issueToken,
  'worker.report': workers.report,
  'run.start': runs.start,
  'run.complete': runs.complete,
  'run.stop': runs.stop,
} as const

export type RuleName = keyof typeof rules
export type RuleInput<R extends RuleName> = Parameters<(typeof rules)[R]> extends [View, Command<infer I>] ? I : never

export function decide<R extends RuleName>(view: View, rule: R, command: Command<RuleInput<R>>): Verdict {
  return (rules[rule] as (view: View, command: Command<RuleInput<R>>) => Verdict)(view, command)
}
