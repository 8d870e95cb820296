// The one place that decides: which rule answers which command.

import * as actions from './actions.ts'
import * as agents from './agents.ts'
import * as channels from './channels.ts'
import * as inbox from './inbox.ts'
import * as messages from './messages.ts'
import type { Command, Verdict } from './verdict.ts'
import type { View } from './view.ts'
import * as workspaces from './workspaces.ts'

/** Commands of the operations table, and those that only the daemon itself gives: `workspace.begin`, `action.expire`. */
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
  'action.register': actions.offer,
  'action.withdraw': actions.withdraw,
  'action.invoke': actions.invoke,
  'action.answer': actions.answer,
  'action.expire': actions.expire,
} as const

export type RuleName = keyof typeof rules
export type RuleInput<R extends RuleName> = Parameters<(typeof rules)[R]> extends [View, Command<infer I>] ? I : never

export function decide<R extends RuleName>(view: View, rule: R, command: Command<RuleInput<R>>): Verdict {
  return (rules[rule] as (view: View, command: Command<RuleInput<R>>) => Verdict)(view, command)
}
