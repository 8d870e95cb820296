// `workspace policy`: prints and changes the owner's rules for a workspace, such as whose terminals an agent may see.

import { type Delegation, limits, type OutputOf } from '@agent-relay/sdk/protocol'
import { type CliOptions, type CommandContext, CommandError, exitCodes, type NamedCommand } from '../../command.ts'
import { withClient, withClientAsPerson } from '../../connection.ts'
import { durationAsTyped, parseDurationMs } from '../../duration.ts'
import { requirePerson } from '../../person.ts'
import type { Printer } from '../../print.ts'
import { oneLine } from '../../text.ts'
import { delegationLine } from '../approvals.ts'

type ShownPolicy = OutputOf<'workspace.policy'>

const get: NamedCommand = {
  name: 'get',
  isDefault: true,
  text: 'who may see whose terminal, which other workspaces may write here, what a token may start, and what becomes of edits of claimed files',
  examples: ['agent-relay workspace policy get', 'agent-relay workspace policy get --project frontend --json'],
  run: runGet,
}

async function runGet(context: CommandContext): Promise<void> {
  await withClient(context, 'agent', async ({ client }) => {
    await show(context.print, await client.call('workspace.policy', {}))
  })
}

const setOptions = {
  writers: { flags: '--writers <names>', text: 'workspaces whose key holders may write here: a list, *, or none' },
  terminal: {
    flags: '--terminal <agent=names>',
    text: 'whose terminals an agent may see: a list, *, or none; with * as the agent, every agent',
    isList: true,
  },
  spawn: {
    flags: '--spawn <what>',
    text: "what an agent's token may start over HTTP and WebSocket: none, no program; clis, the named CLIs in the project's directory",
    choices: ['none', 'clis'],
  },
  worktree: {
    flags: '--worktree <on|off>',
    text: 'on: workers in a repository get a git worktree of their own unless their spawn says otherwise',
    choices: ['on', 'off'],
  },
  claims: {
    flags: '--claims <what>',
    text: "what becomes of an agent's edit of a file that another is editing: off, nothing; warn, both are told; deny, it is denied; strict, so are git commands that sweep over such files",
    choices: ['off', 'warn', 'deny', 'strict'],
  },
  approve: {
    flags: '--approve <agent=worker:tool:pattern>',
    text: 'an agent that may answer approvals of a worker of its own, or of all (*): for one tool, or all (*), and inputs like the pattern; AGENT=none takes it back',
    isList: true,
  },
  keep: {
    flags: '--keep <time>',
    text: 'each day, move finished events older than this into the archive, e.g. 90d; forever moves none',
  },
  until: { flags: '--until <time>', text: 'how long --approve holds: 30m, 2h, up to 7d (1h)' },
} satisfies CliOptions

const set: NamedCommand<typeof setOptions> = {
  name: 'set',
  text: 'change the policy; what you do not name stays as it is',
  options: setOptions,
  examples: [
    'agent-relay workspace policy set --writers backend,docs',
    'agent-relay workspace policy set --spawn clis',
    'agent-relay workspace policy set --worktree on',
    'agent-relay workspace policy set --claims warn',
    'agent-relay workspace policy set --keep 90d',
    'agent-relay workspace policy set --approve "Lead=Fixer:Bash:npm test*" --until 2h',
    'agent-relay workspace policy set --terminal "Lead=*" --terminal Bob=none',
    'agent-relay workspace policy set --terminal "*=*"',
  ],
  run: runSet,
}

export const policy: NamedCommand = {
  name: 'policy',
  text: 'what a workspace allows: get, set',
  isGroup: true,
  examples: ['agent-relay workspace policy get'],
  commands: [get, set],
}

async function runSet(context: CommandContext<typeof setOptions>): Promise<void> {
  const { options, print } = context
  const { writers, terminal, spawn, worktree, claims, approve, keep } = options
  if ([writers, terminal, spawn, worktree, claims, approve, keep].every((each) => each === undefined))
    throw new CommandError(
      'Say what to change: --writers NAMES, --terminal AGENT=NAMES, --spawn none|clis, --worktree on|off, --claims off|warn|deny|strict, --approve AGENT=WORKER:TOOL:PATTERN, --keep 90d|forever',
      exitCodes.usage,
    )
  const keepMs = keep === undefined ? undefined : keepMsOf(keep)
  const changes = terminal?.map(viewOf)
  const until = Date.now() + durationOf(options.until ?? '1h')
  const delegated = approve?.map((text) => delegationOf(text, until))
  await requirePerson(context.env)
  await withClientAsPerson(context, async ({ client }) => {
    const before = (changes || delegated) && (await client.call('workspace.policy', {}))
    const views = Object.entries({ ...before?.terminal, ...Object.fromEntries(changes ?? []) })
    const policy = await client.call('workspace.set-policy', {
      ...(writers === undefined ? {} : { writers: writers === '*' ? '*' : namesOf(writers) }),
      ...(spawn === undefined ? {} : { spawn: spawn as ShownPolicy['spawn'] }),
      ...(worktree === undefined ? {} : { worktree: worktree === 'on' }),
      ...(claims === undefined ? {} : { claims: claims as ShownPolicy['claims'] }),
      ...(keepMs === undefined ? {} : { keepMs }),
      ...(delegated ? { approve: withDelegations(before?.approve ?? [], delegated) } : {}),
      ...(changes ? { terminal: Object.fromEntries(views.filter(([, whose]) => whose.length > 0)) } : {}),
    })
    await show(print, policy)
  })
}

/** Parses `Lead=Bob,Cyd`: Lead may see the terminals of Bob and Cyd. */
function viewOf(text: string): [string, string[]] {
  const at = text.indexOf('=')
  if (at < 1)
    throw new CommandError(`--terminal takes AGENT=NAMES, for instance Lead=Bob,Cyd; not "${text}"`, exitCodes.usage)
  return [text.slice(0, at), namesOf(text.slice(at + 1))]
}

function keepMsOf(text: string): number | 'forever' {
  if (text === 'forever') return text
  const ms = parseDurationMs(text)
  if (ms !== undefined && ms >= limits.keepMsMin) return ms
  throw new CommandError(`--keep takes a time of at least 1d, such as 90d, or forever; not "${text}"`, exitCodes.usage)
}

function durationOf(text: string): number {
  const ms = text.endsWith('s') ? undefined : parseDurationMs(text)
  if (ms === undefined) throw new CommandError(`--until takes 30m, 2h or 1d; not "${text}"`, exitCodes.usage)
  return ms
}

/** Parses `Lead=Fixer:Bash:npm test*`: Lead may approve such commands of Fixer. `Lead=none` revokes all that Lead may approve. */
function delegationOf(text: string, until: number): { agent: string; made?: Delegation } {
  const at = text.indexOf('=')
  const [agent, rest] = [text.slice(0, Math.max(0, at)), text.slice(at + 1)]
  if (agent === '' || rest === '')
    throw new CommandError(`--approve takes AGENT=WORKER:TOOL:PATTERN, or AGENT=none; not "${text}"`, exitCodes.usage)
  if (rest === 'none') return { agent }
  const [whom = '*', tool = '*', ...pattern] = rest.split(':')
  const made = { agent, for: whom, tools: tool.split(','), until }
  return { agent, made: pattern.length === 0 ? made : { ...made, pattern: pattern.join(':') } }
}

function withDelegations(before: Delegation[], changes: { agent: string; made?: Delegation }[]): Delegation[] {
  const ended = new Set(changes.filter(({ made }) => !made).map(({ agent }) => agent))
  const kept = before.filter(({ agent, until }) => !ended.has(agent) && until > Date.now())
  return [...kept, ...changes.flatMap(({ made }) => made ?? [])]
}

function namesOf(text: string): string[] {
  const names = text.split(',').map((name) => name.trim())
  return text === 'none' ? [] : names.filter((name) => name !== '')
}

/** The texts for the policy's field `spawn`. It does not limit agents on the local socket, or the holder of the workspace's key. */
const spawnTexts: Record<ShownPolicy['spawn'], string> = {
  none: "over HTTP and WebSocket an agent's token starts no program",
  clis: "over HTTP and WebSocket an agent's token starts the named CLIs, as they are, in the project's directory",
}

/**
 * The texts for the policy's field `claims`: what happens if an agent edits a file that another agent is editing. Edits in a person's own editor are never held
 * off.
 */
const claimTexts: Record<ShownPolicy['claims'], string> = {
  off: 'nobody is asked about edits',
  warn: 'an edit of a file that another agent is editing goes ahead, and both are told',
  deny: 'an edit of a file that another agent is editing is denied; a git command that sweeps over such files is warned of once',
  strict:
    'an edit of a file that another agent is editing is denied, and so is a git command that sweeps over such files',
}

async function show(print: Printer, policy: ShownPolicy): Promise<void> {
  if (print.isJson) return void (await print.json(policy))
  const { writers, terminal, spawn, worktree, claims, approve, keepMs } = policy
  const from = writers === '*' ? 'all workspaces of this daemon' : listed(writers)
  await print.facts([
    ['writers from', from],
    ['spawn', `${spawn}: ${spawnTexts[spawn]}`],
    [
      'worktree',
      worktree
        ? 'on: workers in a repository get one of their own'
        : 'off: only those that are started with --worktree',
    ],
    ['claims', `${claims}: ${claimTexts[claims]}`],
    ['keep', retentionText(keepMs)],
    ...approve.filter(({ until }) => until > Date.now()).map((each) => ['approve', oneLine(delegationLine(each))]),
    ...Object.entries(terminal).map(([agent, whose]) => [
      agent === '*' ? 'all agents see' : `${oneLine(agent)} sees`,
      `terminals of ${listed(whose)}`,
    ]),
  ])
}

/** Returns the text for the policy's field `keepMs`. */
export function retentionText(keepMs: number | undefined): string {
  if (keepMs === undefined) return 'forever: events stay until somebody runs agent-relay workspace prune'
  return `${durationAsTyped(keepMs)}: finished events older than that move to the archive, once a day`
}

function listed(names: string[]): string {
  return names.length === 0 ? 'nowhere else' : names.map((name) => (name === '*' ? 'all' : oneLine(name))).join(', ')
}
