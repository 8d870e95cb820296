// One fact of each type about existing things, complete by the compiler: for tests that try every fact. No tests.

import type { Fact } from '@agent-relay/sdk/protocol'
import { defaultPolicy } from '../../src/core/workspaces.ts'

/** Of whom and of what the facts tell. */
export interface Cast {
  agent: string
  /** The machine that a fact names, where it names one. */
  machine: string
  /** Another machine, to which something goes. */
  next: string
  epoch: number
  message: string
  worker: { id: string; name: string }
  run: string
  approval: string
  action: string
  call: string
  /** For what is new. */
  fresh: string
}

type Samples = { readonly [T in Fact['type']]: (cast: Cast) => Extract<Fact, { type: T }> }

const path = '/repo/file.ts'
const file = { path, root: '/repo', file: 'file.ts' }
const named = ({ worker: { id, name } }: Cast) => ({ id, worker: name })
const met = { root: '/repo', claims: [{ file: 'file.ts', holder: 'bob', since: 1 }], count: 1, what: 'edit' as const }
const tokens = { input: 1, output: 1, cached: 0 }
const command = ['/bin/sh', '-c', 'touch /tmp/owned']

export const samples: Samples = {
  'workspace.began': ({ fresh }) => ({ type: 'workspace.began', id: fresh }),
  'workspace.key-issued': ({ fresh }) => ({ type: 'workspace.key-issued', hash: fresh }),
  'workspace.restored': () => ({ type: 'workspace.restored' }),
  'workspace.policy-set': () => ({ type: 'workspace.policy-set', policy: { ...defaultPolicy, claims: 'off' } }),
  'workspace.raised': () => ({ type: 'workspace.raised', format: 2 }),
  'workspace.owned': ({ next }) => ({ type: 'workspace.owned', machine: next }),
  'machine.revoked': ({ next }) => ({ type: 'machine.revoked', machine: next }),
  'machine.admitted': ({ next }) => ({ type: 'machine.admitted', machine: next }),
  'agent.registered': ({ agent }) => ({
    type: 'agent.registered',
    id: 'a_9',
    agent: { name: agent, type: 'human' } as never,
  }),
  'agent.updated': ({ agent }) => ({ type: 'agent.updated', agent: { name: agent, type: 'agent', cli: 'x' } as never }),
  'agent.token-issued': ({ agent, fresh }) => ({ type: 'agent.token-issued', agent, hash: fresh }),
  'agent.tokens-revoked': ({ agent }) => ({ type: 'agent.tokens-revoked', agent }),
  'agent.retired': ({ agent }) => ({ type: 'agent.retired', agent, isFree: true }),
  'agent.briefed': ({ agent }) => ({ type: 'agent.briefed', agent, after: 'clear', text: 'obey' }),
  'agent.homed': ({ agent, next, epoch }) => ({
    type: 'agent.homed',
    agent,
    machine: next,
    epoch: epoch + 1,
    isTakeOver: true,
  }),
  'channel.created': ({ fresh }) => ({ type: 'channel.created', channel: `#${fresh}` }),
  'channel.joined': ({ agent }) => ({ type: 'channel.joined', channel: '#general', agent, n: 0 }),
  'channel.left': ({ agent }) => ({ type: 'channel.left', channel: '#general', agent, n: 0 }),
  'channel.removed': () => ({ type: 'channel.removed', channel: '#general' }),
  'conversation.opened': ({ agent }) => ({
    type: 'conversation.opened',
    conversation: '#private',
    members: [agent, 'mallory'],
  }),
  'message.created': ({ agent, fresh }) => ({
    type: 'message.created',
    id: `m_${fresh}`,
    conversation: '*',
    n: 1,
    from: agent,
    kind: 'free',
  }),
  'delivery.offered': ({ message, agent }) => ({ type: 'delivery.offered', message, agent, route: 'tool' }),
  'delivery.held': ({ message, agent }) => ({ type: 'delivery.held', message, agent, until: 9 }),
  'delivery.released': ({ message, agent }) => ({ type: 'delivery.released', message, agent }),
  'delivery.read': ({ message, agent }) => ({ type: 'delivery.read', message, agent }),
  'deliveries.noted': ({ message, agent, machine, epoch }) => ({
    type: 'deliveries.noted',
    agent,
    machine,
    epoch,
    through: 99,
    receipts: [{ message, readAt: 1 }],
  }),
  'reaction.added': ({ message, agent }) => ({ type: 'reaction.added', message, agent, emoji: '+1' }),
  'reaction.removed': ({ message, agent }) => ({ type: 'reaction.removed', message, agent, emoji: '+1' }),
  'action.registered': ({ action, agent, machine }) => ({
    type: 'action.registered',
    name: action,
    provider: agent,
    session: 's_9',
    description: 'mine now',
    inputSchema: {},
    timeoutMs: 1,
    authority: 'owner',
    machine,
  }),
  'action.withdrawn': ({ action, agent }) => ({ type: 'action.withdrawn', name: action, provider: agent }),
  'action.invoked': ({ fresh, action, agent, machine }) => ({
    type: 'action.invoked',
    id: `act_${fresh}`,
    action,
    caller: agent,
    inputBytes: 2,
    until: 9,
    machine,
  }),
  'action.completed': ({ call, action, agent }) => ({
    type: 'action.completed',
    id: call,
    action,
    caller: agent,
    ok: true,
    durationMs: 1,
  }),
  'worker.wished': ({ fresh, agent, machine }) => ({
    type: 'worker.wished',
    id: `wk_${fresh}`,
    worker: agent,
    parent: agent,
    cli: 'sh',
    command,
    cwd: '/',
    isInjected: false,
    machine,
  }),
  'worker.wish-changed': (cast) => ({ type: 'worker.wish-changed', ...named(cast), wish: 'gone' }),
  'worker.interrupted': (cast) => ({ type: 'worker.interrupted', ...named(cast) }),
  'worker.changed': (cast) => ({ type: 'worker.changed', ...named(cast), status: 'exited' }),
  'worker.worktree-removed': (cast) => ({ type: 'worker.worktree-removed', ...named(cast) }),
  'run.started': ({ fresh, agent, machine }) => ({
    type: 'run.started',
    id: `run_${fresh}`,
    agent,
    parent: agent,
    harness: 'loop',
    machine,
  }),
  'run.completed': ({ run, agent }) => ({ type: 'run.completed', id: run, agent, summary: 'all is well' }),
  'run.stopped': ({ run, agent }) => ({ type: 'run.stopped', id: run, agent }),
  'claim.made': ({ agent, machine }) => ({
    type: 'claim.made',
    ...file,
    repository: '/repo/.git',
    agent,
    how: 'edit',
    until: 9e12,
    machine,
  }),
  'claim.renewed': ({ agent, machine }) => ({ type: 'claim.renewed', path, agent, until: 9e12, machine }),
  'claim.ended': ({ agent, machine }) => ({ type: 'claim.ended', ...file, agent, why: 'released', machine }),
  'claim.denied': ({ agent }) => ({ type: 'claim.denied', agent, ...met }),
  'claim.passed': ({ agent }) => ({ type: 'claim.passed', agent, ...met, why: 'late' }),
  'approval.opened': ({ agent, machine }) => ({
    type: 'approval.opened',
    id: 'ap-77',
    agent,
    vendor: 'claude',
    tool: 'Bash',
    input: 'rm -rf ~',
    isExact: true,
    choices: [{ id: 'yes', label: 'Yes', kind: 'allow' }],
    digest: 'd',
    machine,
  }),
  'approval.closed': ({ approval, agent }) => ({
    type: 'approval.closed',
    id: approval,
    agent,
    how: 'answered',
    kind: 'allow',
    choice: 'yes',
  }),
  'need.dismissed': ({ agent }) => ({ type: 'need.dismissed', agent, key: 'told:#general', through: 1 }),
  'notice.asked': ({ agent }) => ({ type: 'notice.asked', asker: agent, agent: 'bob', when: 'idle', after: 0 }),
  'notice.ended': ({ agent }) => ({ type: 'notice.ended', asker: agent, agent: 'bob', when: 'idle', why: 'told' }),
  'spend.noted': ({ agent }) => ({ type: 'spend.noted', agent, tokens }),
}
