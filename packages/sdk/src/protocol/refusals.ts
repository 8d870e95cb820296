// The closed list of expected "no"s. Each code states once: its text with the mend, whether trying again can help, HTTP status and exit code.

export type RefusalDetails = Record<string, unknown>

interface RefusalRule {
  text: (details: RefusalDetails) => string
  /** The same call may succeed later without being changed. */
  retry: boolean
  http: number
  exit: number
}

const usage = { retry: false, http: 400, exit: 2 }
const absent = { retry: false, http: 404, exit: 1 }
const clash = { retry: false, http: 409, exit: 1 }
const denied = { retry: false, http: 403, exit: 77 }
const busy = { retry: true, http: 503, exit: 75 }

const list = (value: unknown): string => (Array.isArray(value) ? value.join(', ') : String(value ?? ''))
const oneOf = (value: unknown, lead: string): string =>
  Array.isArray(value) && value.length > 0 ? ` ${lead} ${value.join(' or ')}?` : ''

export const refusals = {
  'agent.unknown': {
    ...absent,
    text: (d) => `Agent not found: ${d.name}.${oneOf(d.nearest, 'Did you mean')} All names: agent-relay who --all`,
  },
  'agent.name-taken': {
    ...clash,
    text: (d) => `The name "${d.name}" is in use by a live session. Choose another name, or give that agent's token.`,
  },
  'agent.name-offline': {
    ...denied,
    text: (d) => `The name "${d.name}" belongs to an agent that is away. Give its token, or choose another name.`,
  },
  'agent.required': {
    ...denied,
    exit: 77,
    text: () => 'No agent is named. Register a name first; over HTTP, send an agent token or the header X-Relay-Agent.',
  },
  'agent.handle-taken': { ...clash, text: (d) => `The handle "${d.handle}" belongs to ${d.name}. Choose another.` },
  'action.name-taken': {
    ...clash,
    text: (d) => `The action "${d.name}" would be the tool ${d.tool}, which is ${d.by}. Choose another name.`,
  },
  'action.name-long': {
    ...usage,
    text: (d) => `The action "${d.name}" is too long for a tool: at most ${d.charsMax} characters. Shorten it.`,
  },
  'action.unknown': { ...absent, text: (d) => `You offer no action "${d.name}".` },
  'invocation.unknown': { ...absent, text: (d) => `No invocation ${d.invocation} is known to you.` },
  'run.unknown': { ...absent, text: (d) => `Agent not found: ${d.run}. All runs: agent-relay runs status` },
  'run.not-yours': {
    ...denied,
    text: (d) => `The run ${d.run} belongs to ${d.agent} and to ${d.parent}, who asked for it. Tell them instead.`,
  },
  'run.no-payload': { ...absent, text: (d) => `The run ${d.run} has handed over no payload.` },
  'encoding.refused': {
    ...usage,
    http: 406,
    text: () => 'A payload is sent compressed only. Ask with the header "Accept-Encoding: gzip".',
  },
  'channel.unknown': {
    ...absent,
    text: (d) =>
      `Channel not found: ${d.channel}. There ${Array.isArray(d.channels) && d.channels.length === 1 ? 'is' : 'are'} ` +
      `${list(d.channels)}. To make it: agent-relay channels create ${String(d.channel).replace('#', '')}`,
  },
  'channel.exists': { ...clash, text: (d) => `${d.channel} exists already. To enter it, join it.` },
  'channel.not-member': { ...clash, text: (d) => `You are not in ${d.channel}. Join it first.` },
  'channel.permanent': { ...clash, text: (d) => `Every agent is in ${d.channel}: it cannot be left.` },
  'message.unknown': { ...absent, text: (d) => `No message ${d.message} is known to you.` },
  'message.not-yours': { ...denied, text: (d) => `Message ${d.message} was not addressed to you.` },
  'message.to-self': { ...usage, text: () => 'A message to yourself would reach nobody. Name another agent.' },
  'message.too-many': {
    ...busy,
    http: 429,
    text: (d) =>
      `${d.count} messages between you and ${d.to} within a minute: this looks like a loop. ` +
      `You may go on in ${d.seconds} s; settle the matter in one message, or work on something else.`,
  },
  'message.undelivered': { ...absent, text: (d) => `The message reached no one: ${list(d.failures)}` },
  'wait.cycle': {
    ...clash,
    text: (d) => `${d.to} waits for you already: this wait would close the circle ${list(d.circle)}. Answer first.`,
  },
  'wait.timeout': {
    retry: true,
    http: 504,
    exit: 1,
    text: (d) =>
      `Timeout waiting for response from ${d.to} (${d.ms} ms). The message ${d.message} is stored; its answer will come to your inbox.`,
  },
  'wait.gone': {
    ...absent,
    text: (d) => `${d.to} has gone (${d.reason}). The message ${d.message} is stored and waits in the inbox there.`,
  },
  'wait.cancelled': { ...clash, text: () => 'The wait was given up by its caller. The message is stored.' },
  'worker.unknown': {
    ...absent,
    text: (d) => `No worker is named "${d.name}".${oneOf(d.nearest, 'Did you mean')} All workers: agent-relay workers`,
  },
  'worker.exists': {
    ...clash,
    text: (d) => `A worker named "${d.name}" is running. Release it, or choose another name.`,
  },
  'worker.exited': { ...clash, text: (d) => `Worker "${d.name}" has exited${d.reason ? `: ${d.reason}` : '.'}` },
  'worker.died': {
    retry: false,
    http: 502,
    exit: 1,
    text: (d) => `${d.name} ended at once: ${d.reason}${d.screen ? `\nIts last screen:\n${d.screen}` : ''}`,
  },
  'worker.not-yours': {
    ...denied,
    text: (d) => `Worker "${d.name}" works for ${d.parent}: only its parent and people may ${d.what}.`,
  },
  'worker.too-many': {
    ...busy,
    text: (d) => `${d.count} workers are running, which is the most. Release one first: agent-relay release NAME`,
  },
  'worker.unavailable': { ...usage, http: 501, text: () => 'This relay starts no workers.' },
  'cli.unknown': {
    ...usage,
    text: (d) =>
      `There is no harness "${d.cli}". There are ${list(d.clis)}; for another program: --command "PROGRAM ARGS".`,
  },
  'cli.not-installed': { ...absent, text: (d) => notInstalled(`${d.program}`, `${d.install}`) },
  'directory.unknown': { ...usage, text: (d) => `There is no directory ${d.path}.` },
  'workspace.unknown': {
    ...absent,
    text: (d) =>
      `No workspace "${d.workspace}" is open here. To open it: agent-relay daemon start --project ${d.workspace}`,
  },
  'workspace.exists': { ...clash, text: (d) => `A workspace "${d.workspace}" exists already. Its data: ${d.path}` },
  'workspace.busy': {
    ...clash,
    text: (d) =>
      `Workspace "${d.workspace}" is in use by ${list(d.agents)}. ` +
      `To remove it all the same: agent-relay workspace remove ${d.workspace} --force`,
  },
  'workspace.removed': { ...absent, http: 410, text: (d) => `Workspace "${d.workspace}" was removed by its owner.` },
  'workspace.newer': {
    retry: false,
    http: 500,
    exit: 78,
    text: (d) =>
      `${d.path} was written by a newer Agent Relay (schema ${d.found}, this one knows ${d.known}). Update this one.`,
  },
  'workspace.damaged': {
    retry: false,
    http: 500,
    exit: 78,
    text: (d) =>
      `${d.path} is damaged (${d.reason}). It was left as it is. To move it away and start afresh: ${d.mend}\n` +
      'If you have a copy of it, put that in its place before the start.',
  },
  'config.invalid': {
    retry: false,
    http: 500,
    exit: 78,
    text: (d) => `${d.path}: ${d.why}. Nothing was changed; mend the file or move it away.`,
  },
  'data.unusable': {
    ...denied,
    http: 500,
    text: (d) =>
      `The data directory ${d.path} cannot be used: ${d.why}. It must be a directory that you own and can write to: ` +
      'mend it with chown or chmod, or choose another place with RELAY_DATA_DIR.',
  },
  'auth.denied': { ...denied, text: (d) => `Not allowed: ${d.why}` },
  // Deliberately the same for no credential, an unknown one and an unknown workspace.
  'auth.required': {
    ...denied,
    http: 401,
    text: () => 'Send a valid workspace key or agent token: "Authorization: Bearer …".',
  },
  'auth.revoked': { ...denied, http: 401, text: (d) => `This session has ended: ${d.why} Connect with a valid one.` },
  'page.none': {
    ...absent,
    text: () => 'This daemon serves no page: it was started with --no-http. Restart it: agent-relay daemon restart',
  },
  'page.login': {
    ...denied,
    http: 401,
    text: () => 'This page needs a link that works once, within five minutes. To get one: agent-relay dashboard',
  },
  'origin.denied': {
    ...denied,
    text: (d) =>
      `${d.header} "${d.value}" is not on the list of this relay. It answers at ${d.url}; ` +
      'to let a web page in: agent-relay up --allow-origin <origin>',
  },
  'route.unknown': { ...absent, text: (d) => `There is nothing at ${d.path}. There are ${list(d.routes)}.` },
  'method.unsupported': {
    ...usage,
    http: 405,
    text: (d) => `${d.path} does not take ${d.method}, but ${list(d.allowed)}.`,
  },
  'media.unsupported': { ...usage, http: 415, text: () => 'A POST needs the content type application/json.' },
  'port.taken': {
    ...busy,
    text: (d) =>
      `Port ${d.port} is taken by another program${d.owner ? ` (${d.owner})` : ''}. ` +
      `Choose one: agent-relay up --port ${d.next}`,
  },
  'bind.denied': { retry: false, http: 500, exit: 78, text: (d) => `Nothing listens at ${d.host}: ${d.why}` },
  'store.full': {
    ...busy,
    http: 507,
    exit: 1,
    text: () => 'The disk is full: nothing was stored. Free some space and try again.',
  },
  'daemon.stopping': { ...busy, text: () => 'The relay daemon is stopping. Try again when it has started.' },
  'session.stalled': {
    ...busy,
    text: (d) => `The connection read nothing for ${d.seconds} s and was closed. Nothing is lost: reconnect.`,
  },
  'input.invalid': { ...usage, text: (d) => `Invalid input for ${d.operation}: ${d.why}` },
  'operation.unknown': { ...absent, exit: 2, text: (d) => `There is no operation "${d.operation}".` },
  'frame.invalid': { ...usage, text: (d) => `Not a valid frame: ${d.why}` },
  'frame.too-large': { ...usage, http: 413, text: (d) => `A line or body is at most ${d.bytesMax} bytes.` },
  fault: { retry: true, http: 500, exit: 1, text: (d) => `The daemon failed: ${d.why}` },
} satisfies Record<string, RefusalRule>

export type RefusalCode = keyof typeof refusals

export interface Refusal {
  code: RefusalCode
  message: string
  retry: boolean
  details: RefusalDetails
}

export function refusal(code: RefusalCode, details: RefusalDetails = {}): Refusal {
  const rule: RefusalRule = refusals[code]
  return { code, message: rule.text(details), retry: rule.retry, details }
}

export function isRefusalCode(code: unknown): code is RefusalCode {
  return typeof code === 'string' && Object.hasOwn(refusals, code)
}

/** The user's own program has no install command; one that is given by its path is looked for nowhere else. */
function notInstalled(program: string, install: string): string {
  if (install !== '') return `${program} is not on PATH. Install it: ${install}`
  if (program.includes('/')) return `${program} is no program that could be run.`
  return `${program} is not on PATH, as the daemon has it. Give the path of its file, or restart the daemon from here.`
}
