// Rules for the workspace itself: its beginning (id, key, `#general` and the broadcast), the rotation of its key, and its policy.

import { type Delegation, type Fact, limits, type ParsedInputOf, type Policy } from '@agent-relay/sdk/protocol'
import { broadcast, generalChannel } from './conversations.ts'
import { type Command, recordFacts, refuse, type Verdict } from './verdict.ts'
import type { View } from './view.ts'

/** The policy until the owner changes it, and the defaults for parts that a policy stored by an older daemon lacks. */
export const defaultPolicy: Policy = {
  terminal: {},
  writers: [],
  spawn: 'none',
  worktree: false,
  claims: 'deny',
  approve: [],
}

/** The format in which sharing of a workspace begins, which is the newest that this version knows. */
export const newestSharedFormat = 2

/** Returns the facts with which sharing begins: the format, by which machines judge each other's entries from now on, and the owner machine. */
export function sharingBeginFacts(machine: string): Fact[] {
  return [
    { type: 'workspace.raised', format: newestSharedFormat },
    { type: 'workspace.owned', machine },
  ]
}

export interface BeginInput {
  id: string
  keyHash: string
}

/** Begins a workspace, as its first command. Changes nothing in a workspace that is opened again. */
export function beginWorkspace(view: View, { input, world }: Command<BeginInput>): Verdict {
  if (view.lastNumber(generalChannel) !== undefined) return recordFacts([], { isNew: false })
  return recordFacts(
    [
      { type: 'workspace.began', id: input.id },
      { type: 'workspace.key-issued', hash: input.keyHash },
      { type: 'channel.created', channel: generalChannel },
      { type: 'conversation.opened', conversation: broadcast, members: [] },
      ...(world.machine === undefined ? [] : sharingBeginFacts(world.machine)),
    ],
    { isNew: true },
  )
}

export interface RotateInput {
  keyHash: string
}

export function rotateKey(_: View, { input }: Command<RotateInput>): Verdict {
  return recordFacts([{ type: 'workspace.key-issued', hash: input.keyHash }])
}

export function setPolicy(view: View, { input, at }: Command<ParsedInputOf<'workspace.set-policy'>>): Verdict {
  const before = view.policy()
  const keepMs = input.keepMs ?? before.keepMs
  const [why] = input.approve?.flatMap((each) => wrongIn(each, at) ?? []) ?? []
  if (why !== undefined) return refuse('input.invalid', { operation: 'workspace.set-policy', why })
  const policy: Policy = {
    terminal: input.terminal ?? before.terminal,
    writers: input.writers ?? before.writers,
    spawn: input.spawn ?? before.spawn,
    worktree: input.worktree ?? before.worktree,
    claims: input.claims ?? before.claims,
    approve: input.approve ?? before.approve,
    ...(typeof keepMs === 'number' ? { keepMs } : {}),
  }
  const isSame = JSON.stringify(policy) === JSON.stringify(before)
  return recordFacts(isSame ? [] : [{ type: 'workspace.policy-set', policy }], policy)
}

function wrongIn({ agent, for: whom, until, pattern = '' }: Delegation, at: number): string | undefined {
  if (whom === agent) return 'nobody answers approvals of their own'
  if (until - at > limits.delegationMsMax) return 'a delegation lasts a week at most'
  const most = limits.delegationStarsMax
  return pattern.split('*').length - 1 > most ? `a pattern holds at most ${most} stars` : undefined
}

/** Whether agents of another workspace may write to this one over the network. On the owner's own socket they always may. */
export function mayOtherWorkspaceWrite({ writers }: Policy, workspace: string): boolean {
  return writers === '*' || writers.includes(workspace)
}
