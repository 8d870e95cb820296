// The sentences in refusals that say how to fix the problem, for each kind of reader: they name tools for an agent, commands for a person, and SDK calls for a
// program. A refusal has a row here only if its sentence names one of these; otherwise ../refusals.ts has the complete text.

export type RefusalDetails = Record<string, unknown>

/** Who reads a refusal: an agent with certain tools, a person at the command line or on the page, or a program. */
export type RefusalReader = { hasTool(name: string): boolean } | 'person' | 'program'

type Words = string | ((details: RefusalDetails) => string)

export interface Fixes {
  /**
   * The fix for agents, by tool name: an agent reads the text for the first of these tools that it has. An agent with none of them reads the text under '', or
   * else the person's.
   */
  agent: Words | Readonly<Record<string, Words>>
  person: Words
  program: Words
}

/** A channel's name without `#`, as commands and the SDK take it. */
const bare = (channel: unknown): string => String(channel).replace('#', '')

const toEnter: Fixes = {
  agent: { join_channel: (d) => `To enter it: join_channel(channel="${d.channel}")` },
  person: (d) => `To enter it: agent-relay channels join ${bare(d.channel)}`,
  program: (d) => `To enter it: relay.channels.join('${bare(d.channel)}')`,
}

/** The fix for a missing channel. Empty for a caller in another workspace, which cannot create a channel in this one. */
const toMake = ({ canMake = true }: RefusalDetails, how: string): string => (canMake ? `To make it: ${how}` : '')

/** The fix for a missing workspace key. All readers get the same text, because the person who configures the client has to act. */
const toComeIn = 'For the key: agent-relay workspace key. To ask for none on this machine: agent-relay up --open'

/** How to list the open approvals. Agents get the command too: they have no tool for approvals, but may answer them under a delegation. */
const openApprovals: Fixes = {
  agent: 'To see the open approvals: agent-relay approvals',
  person: 'To see the open approvals: agent-relay approvals',
  program: "To see the open approvals: relay.client.call('approval.list', {})",
}

const allNeeds: Fixes = {
  agent: 'To see what does: agent-relay needs',
  person: 'To see what does: agent-relay needs',
  program: "To see what does: relay.client.call('need.list', {})",
}

const awaitedNotices: Fixes = {
  agent: 'To see and drop yours: agent-relay notices',
  person: 'To see and drop yours: agent-relay notices',
  program: 'To see and drop yours: relay.agents.notices()',
}

/** The fix for a send while the shared workspace cannot be reached: let the message wait on this machine until it can be sent. */
const toQueue: Fixes = {
  agent: { relay_send: 'To have a message sent once that works: relay_send(…, queue=true)', '': '' },
  person: 'To have a message sent once that works: agent-relay send TO MESSAGE --queue',
  program: 'To have a message sent once that works: client.queue(to, body)',
}

/** The fix for a request to another machine that does not allow it. All readers get the same text, because a person at that machine has to act. */
const toAllow = (d: RefusalDetails): string =>
  `A person can allow it on ${d.machine}: agent-relay machine allow ${d.from} ${d.kind}`

const toShow = (d: RefusalDetails): string =>
  `A person can allow it: agent-relay workspace policy set --terminal "${d.agent}=${d.name}"`

/** Adds a question with names to choose from, such as ` Did you mean Ann or Bob?`, or nothing if there are none. */
export const suggestionText = (value: unknown, lead: string): string =>
  Array.isArray(value) && value.length > 0 ? ` ${lead} ${value.join(' or ')}?` : ''

/** How to search for a pruned message in the archive. All readers get the same text, because reading the archive needs the workspace's key. */
const toReadArchive = ({ archive }: RefusalDetails): string =>
  archive === undefined ? '' : 'Whoever has the key can search it: agent-relay search WORDS --archive'

/** The fixes, by the code of their refusal. */
export const fixes = {
  'agent.unknown': {
    agent: { relay_who: 'All names: relay_who', list_agents: 'All names: list_agents(status="all")' },
    person: 'All names: agent-relay who --all',
    program: 'All names: relay.agents.list({ includeOffline: true })',
  },
  'agent.required': {
    agent: {
      register_agent: 'Call register_agent first, and pass the agent_token that it returns.',
      '': 'Your MCP configuration must name you: by an agent token, or the header X-Relay-Agent.',
    },
    person: 'Say who you are: --as NAME',
    program: 'Register a name first; over HTTP, send an agent token or the header X-Relay-Agent.',
  },
  'message.unknown': { agent: toReadArchive, person: toReadArchive, program: toReadArchive },
  'auth.required': { agent: toComeIn, person: toComeIn, program: toComeIn },
  'run.unknown': {
    agent: {
      agent_status:
        'agent_start answers with the agent_id of each. A run is visible to whoever started it, to its own agent, to people and to the holder of the key.',
    },
    person: 'All runs: agent-relay runs status',
    program: "All runs: relay.client.call('run.list', {})",
  },
  'run.running': {
    agent: { agent_stop: (d) => `Stop it first: agent_stop("${d.run}")` },
    person: (d) => `Stop it first: agent-relay runs stop ${d.run}`,
    program: (d) => `Stop it first: relay.client.call('run.stop', { run: '${d.run}' })`,
  },
  'channel.unknown': {
    agent: {
      relay_send: (d) => toMake(d, `relay_send(to="${d.channel}", message=…, create=true)`),
      join_channel: (d) => toMake(d, `join_channel(channel="${d.channel}")`),
    },
    person: (d) => toMake(d, `agent-relay channels create ${bare(d.channel)}`),
    program: (d) => toMake(d, `relay.channels.create('${bare(d.channel)}')`),
  },
  'channel.exists': toEnter,
  'channel.not-member': toEnter,
  'approval.unknown': openApprovals,
  'approval.changed': openApprovals,
  'approval.too-many': openApprovals,
  'need.unknown': allNeeds,
  'notice.none': awaitedNotices,
  'notice.too-many': awaitedNotices,
  'notice.too-many-yours': awaitedNotices,
  'outbox.unknown': {
    agent: '',
    person: 'Messages that wait: agent-relay outbox',
    program: "Messages that wait: client.call('outbox.list', {})",
  },
  'cluster.unreachable': toQueue,
  'cluster.unusable': toQueue,
  'cluster.diverged': toQueue,
  'request.denied': { agent: toAllow, person: toAllow, program: toAllow },
  'worker.screen-hidden': { agent: toShow, person: toShow, program: toShow },
  'worker.unknown': {
    agent: { relay_who: 'Workers are marked in relay_who.' },
    person: (d) => (d.ofRunning ? 'All workers: agent-relay workers' : 'All that ever ran: agent-relay workers --all'),
    program: (d) => `All workers: relay.client.call('worker.list', {${d.ofRunning ? '' : ' all: true '}})`,
  },
  'worker.exists': {
    agent: { relay_release: (d) => `Release it with relay_release(name="${d.name}"), or choose another name.` },
    person: (d) => `Release it with agent-relay release ${d.name}, or choose another name.`,
    program: (d) => `Release it with relay.client.release('${d.name}'), or choose another name.`,
  },
  'worker.running': {
    agent: { relay_release: (d) => `Release it first: relay_release(name="${d.name}")` },
    person: (d) => `Release it first: agent-relay release ${d.name}`,
    program: (d) => `Release it first: relay.client.release('${d.name}')`,
  },
  'worker.no-interrupt': {
    agent: { relay_release: (d) => `To end it: relay_release(name="${d.name}")` },
    person: (d) => `Interrupt it at its terminal: agent-relay attach ${d.name}`,
    program: (d) => `To end it: relay.client.release('${d.name}')`,
  },
  'worker.of-run': {
    agent: '',
    person: (d) => `To give that again: agent-relay retry ${d.run}`,
    program: (d) => `To give that again: relay.client.call('run.start', { again: '${d.run}' })`,
  },
  'worker.no-task': {
    agent: { relay_spawn: (d) => `To hire it with one: relay_spawn(name="${d.name}", task=…)` },
    person: (d) => `To hire it with one: agent-relay spawn ${d.name} --task "…"`,
    program: (d) => `To hire it with one: relay.client.spawn({ name: '${d.name}', task, … })`,
  },
  'worker.no-conversation': {
    agent: '',
    person: (d) => `To give it its task from the beginning: agent-relay retry ${d.name}`,
    program: (d) => `To give it its task from the beginning: relay.client.call('worker.retry', { name: '${d.name}' })`,
  },
  'worker.too-many': {
    agent: { relay_release: 'Release one first: relay_release(name=…)' },
    person: 'Release one first: agent-relay release NAME',
    program: 'Release one first: relay.client.release(name)',
  },
  'worktree.unknown': {
    agent: '',
    person: 'To see all worktrees: agent-relay workers',
    program: "To see all worktrees: relay.client.call('worker.changes', {})",
  },
  'claim.held': {
    agent: { relay_send: (d) => `To ask for the file: relay_send(to="${d.holder}", message=…)` },
    person: (d) =>
      `To ask for the file: agent-relay send ${d.holder} TEXT. To end the claim: agent-relay claims drop FILE`,
    program: (d) => `To ask for the file: relay.messages.send('${d.holder}', …)`,
  },
  'cli.unknown': {
    agent: '',
    person: 'For another program: --command "PROGRAM ARGS"',
    program: "For another program: command: ['PROGRAM', 'ARG']",
  },
  'directory.required': {
    agent: 'Name a directory: cwd=…',
    person: 'Name a directory with --cwd, or open the workspace in its directory once: agent-relay up',
    program: 'Name a directory (cwd), or open the workspace in its directory once: agent-relay up',
  },
  'directory.outside': {
    agent: (d) => (d.hasProject ? '' : 'Ask your user to open it in its directory once: agent-relay up'),
    person: (d) => (d.hasProject ? '' : 'Open it in its directory once: agent-relay up'),
    program: (d) => (d.hasProject ? '' : 'Open it in its directory once: agent-relay up'),
  },
  'workspace.unknown': {
    agent: 'Your user can list all workspaces: agent-relay workspace list',
    person: (d) => `To list all: agent-relay workspace list. To make it: agent-relay workspace create ${d.workspace}`,
    program: 'To list all: agent-relay workspace list',
  },
  'workspace.closed': {
    agent: (d) => `Your user can open it: agent-relay workspace open ${d.workspace}`,
    person: (d) => `To open it: agent-relay workspace open ${d.workspace}`,
    program: (d) => `To open it: agent-relay workspace open ${d.workspace}`,
  },
} as const satisfies Record<string, Fixes>

/**
 * The fixes in messages from the daemon to a worker's parent, by what is wrong with the worker. When such a message is written, nobody knows which tools its
 * reader has.
 */
export const noticeFixes = {
  blocked: {
    agent: (name: string) =>
      `A person has to answer it at the worker's terminal. relay_who shows when the worker goes on; to end it: relay_release(name="${name}")`,
    person: (name: string) => `Somebody must look: agent-relay attach ${name}`,
  },
  'not-ready': {
    agent: (name: string) => `relay_who shows when it is ready; to end it: relay_release(name="${name}")`,
    person: (name: string) => `To look: agent-relay attach ${name}`,
  },
  'task-refused': {
    agent: (name: string) =>
      `When that is fixed, send it the task: relay_send(to="${name}"); to end it: relay_release(name="${name}")`,
    person: (name: string) => `When that is fixed, send it the task: agent-relay send ${name} "…"`,
  },
} as const

/** Returns the fix for this kind of reader. Empty if the reader cannot fix the problem, or if the refusal's own text already says how. */
export function fixFor(code: string, details: RefusalDetails, reader: RefusalReader): string {
  if (!Object.hasOwn(fixes, code)) return ''
  const words = wordsFor(fixes[code as keyof typeof fixes], reader)
  return typeof words === 'function' ? words(details) : words
}

function wordsFor({ agent, person, program }: Fixes, reader: RefusalReader): Words {
  if (typeof reader === 'string') return reader === 'person' ? person : program
  if (typeof agent !== 'object') return agent
  return agent[Object.keys(agent).find((name) => reader.hasTool(name)) ?? ''] ?? person
}

/** Names agents with the wanted name in other workspaces of this daemon. */
export function otherWorkspacesText({ name, elsewhere }: RefusalDetails): string {
  const told = (workspace: string) => ` ${name} is in ${workspace}: send to "${workspace}:${name}".`
  return Array.isArray(elsewhere) ? elsewhere.map(told).join('') : ''
}

/** The text for a program that was not found. `install` is empty for a program that the relay does not know. A path is not searched for on PATH. */
export function notInstalledText(program: string, install: string): string {
  if (install !== '') return `${program} is not on PATH. Install it: ${install}`
  if (program.includes('/')) return `${program} is not a program that can be run.`
  return `${program} is not on PATH, as the daemon has it. Give the path of its file, or restart the daemon from here.`
}

export function databaseFixes(d: RefusalDetails): string {
  return `To go on with a copy of it: ${d.copy}\nTo start over, keeping what is there: ${d.startOver}`
}
