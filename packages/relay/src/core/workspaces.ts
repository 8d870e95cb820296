// A workspace as a whole: how it begins (its id, its key, `#general` and the broadcast), its next key, its policy.

import type { ParsedInputOf, Policy } from '@agent-relay/sdk/protocol'
import { broadcast, generalChannel } from './conversations.ts'
import { type Command, record, type Verdict } from './verdict.ts'
import type { View } from './view.ts'

export interface BeginInput {
  id: string
  keyHash: string
}

/** The very first command of a workspace; later openings find it begun. */
export function begin(view: View, { input }: Command<BeginInput>): Verdict {
  if (view.lastNumber(generalChannel) !== undefined) return record([], { isNew: false })
  return record(
    [
      { type: 'workspace.began', id: input.id },
      { type: 'workspace.key-issued', hash: input.keyHash },
      { type: 'channel.created', channel: generalChannel },
      { type: 'conversation.opened', conversation: broadcast, members: [] },
    ],
    { isNew: true },
  )
}

export interface RotateInput {
  keyHash: string
}

export function rotateKey(_: View, { input }: Command<RotateInput>): Verdict {
  return record([{ type: 'workspace.key-issued', hash: input.keyHash }])
}

export function setPolicy(view: View, { input }: Command<ParsedInputOf<'workspace.set-policy'>>): Verdict {
  const before = view.policy()
  const policy: Policy = { terminal: input.terminal ?? before.terminal, writers: input.writers ?? before.writers }
  const isSame = JSON.stringify(policy) === JSON.stringify(before)
  return record(isSame ? [] : [{ type: 'workspace.policy-set', policy }], policy)
}

/** May agents of `workspace` write here, beyond what the owner's own socket allows? */
export function mayWrite({ writers }: Policy, workspace: string): boolean {
  return writers === '*' || writers.includes(workspace)
}
