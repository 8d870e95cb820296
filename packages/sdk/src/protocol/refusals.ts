// The complete list of refusals (expected errors), with four things for each code: the text that says how to fix the problem, whether trying again can help,
// the HTTP status and the exit code. Fixes that differ between agents, people and programs are in refusals/fixes.ts.

import { approvalRefusals } from './refusals/approvals.ts'
import { claimRefusals } from './refusals/claims.ts'
import { clusterRefusals } from './refusals/cluster.ts'
import { fileRefusals } from './refusals/files.ts'
import type { RefusalDetails, RefusalReader } from './refusals/fixes.ts'
import { databaseFixes, fixFor, notInstalledText, otherWorkspacesText, suggestionText } from './refusals/fixes.ts'
import { frameRefusals } from './refusals/frames.ts'
import {
  busyKind,
  conflictKind,
  deniedKind,
  notFoundKind,
  type RefusalRule,
  unauthenticatedKind,
  usageKind,
} from './refusals/kinds.ts'
import { needRefusals } from './refusals/needs.ts'
import { noticeRefusals } from './refusals/notices.ts'
import { workerRefusals } from './refusals/workers.ts'

export { noticeFixes, type RefusalDetails, type RefusalReader } from './refusals/fixes.ts'

const outsideFix = ({ hasProject, isWorktree }: RefusalDetails): string => {
  if (!hasProject) return 'This workspace has no directory yet.'
  return isWorktree ? 'Leave `worktree` out.' : 'Name one inside it.'
}

const list = (value: unknown): string => (Array.isArray(value) ? value.join(', ') : String(value ?? ''))

export const refusals = {
  ...clusterRefusals,
  ...claimRefusals,
  ...fileRefusals,
  ...approvalRefusals,
  ...needRefusals,
  ...noticeRefusals,
  ...workerRefusals,
  'agent.unknown': {
    ...notFoundKind,
    text: (d) => `Agent not found: ${d.name}.${suggestionText(d.nearest, 'Did you mean')}${otherWorkspacesText(d)}`,
  },
  'agent.name-taken': {
    ...conflictKind,
    text: (d) => `The name "${d.name}" is in use by a live session. Choose another name, or give that agent's token.`,
  },
  'agent.name-offline': {
    ...deniedKind,
    text: (d) => `The name "${d.name}" belongs to an agent that is away. Give its token, or choose another name.`,
  },
  'agent.required': { ...deniedKind, text: () => 'This call needs the name of an agent.' },
  'agent.name-retired': {
    ...deniedKind,
    text: (d) => `"${d.name}" was retired, and its name stays reserved. Choose another name.`,
  },
  'agent.in-use': { ...conflictKind, text: (d) => `${d.name} is still at work: ${d.why}. End that first.` },
  'agent.handle-taken': {
    ...conflictKind,
    text: (d) => `"${d.handle}" is the name or the handle of ${d.name}. Choose another.`,
  },
  'action.name-taken': {
    ...conflictKind,
    text: (d) =>
      `The action "${d.name}" would appear as the tool ${d.tool}, but that name is ${d.by}. Choose another name.`,
  },
  'action.name-long': {
    ...usageKind,
    text: (d) => `The action "${d.name}" is too long for a tool: at most ${d.charsMax} characters. Shorten it.`,
  },
  'action.unknown': { ...notFoundKind, text: (d) => `You offer no action "${d.name}".` },
  'invocation.unknown': { ...notFoundKind, text: (d) => `No invocation ${d.invocation} is known to you.` },
  'run.unknown': { ...notFoundKind, text: (d) => `Agent not found: ${d.run}.` },
  'run.not-yours': {
    ...deniedKind,
    text: (d) => `The run ${d.run} belongs to ${d.agent} and to ${d.parent}, who asked for it. Tell them instead.`,
  },
  'run.running': { ...conflictKind, text: (d) => `The run ${d.run} has not ended.` },
  'run.elsewhere': {
    ...conflictKind,
    text: (d) => `The run ${d.run} was carried out on ${d.machine}. Ask for it again there, or start another one here.`,
  },
  'run.no-payload': { ...notFoundKind, text: (d) => `The run ${d.run} has handed over no payload.` },
  'encoding.refused': {
    ...usageKind,
    http: 406,
    text: () => 'A payload is sent compressed only. Ask with the header "Accept-Encoding: gzip".',
  },
  'channel.unknown': {
    ...notFoundKind,
    text: (d) =>
      `Channel not found: ${d.channel}. There ${Array.isArray(d.channels) && d.channels.length === 1 ? 'is' : 'are'} ` +
      `${list(d.channels)}${Number(d.more) > 0 ? ` and ${d.more} more` : ''}.`,
  },
  'channel.exists': { ...conflictKind, text: (d) => `${d.channel} exists already.` },
  'channel.not-member': { ...conflictKind, text: (d) => `You are not in ${d.channel}.` },
  'channel.permanent': {
    ...conflictKind,
    text: (d) => `Every agent is in ${d.channel}: it cannot be left or removed.`,
  },
  'channel.in-use': {
    ...conflictKind,
    text: (d) =>
      `${d.channel} cannot be removed: ${d.why}. Its maker can remove it while nobody else has joined it and nothing was said in it.`,
  },
  'message.unknown': {
    ...notFoundKind,
    text: (d) => {
      const pruned =
        d.archive === undefined ? '' : ` If it was pruned, the file archive/${d.archive} of the workspace has it.`
      return `No message ${d.message} is known to you.${pruned}`
    },
  },
  'message.not-yours': { ...deniedKind, text: (d) => `Message ${d.message} was not addressed to you.` },
  'message.to-self': { ...usageKind, text: () => 'A message to yourself would reach nobody. Name another agent.' },
  'message.too-many': {
    ...busyKind,
    http: 429,
    text: (d) =>
      `${d.count} messages between you and ${d.to} within a minute: this looks like a loop. ` +
      `You may go on in ${d.seconds} s; settle the matter in one message, or work on something else.`,
  },
  'message.undelivered': { ...notFoundKind, text: (d) => `The message reached no one: ${list(d.failures)}` },
  'wait.cycle': {
    ...conflictKind,
    text: (d) =>
      `${d.to} is waiting for you already, so nobody in this circle could answer: ${list(d.circle)}. Answer first.`,
  },
  'wait.timeout': {
    retry: true,
    http: 504,
    exit: 1,
    text: (d) =>
      `Timeout waiting for response from ${d.to} (${d.ms} ms)${d.away ? `: ${d.away}` : ''}. The message ${d.message} is stored; its answer will come to your inbox.`,
  },
  'wait.gone': {
    ...notFoundKind,
    text: ({ to, all, several, away }) =>
      several === true
        ? `${all} have been away for ${away}; it waits in their inboxes.`
        : `${to} has been away for ${away}; it waits in their inbox.`,
  },
  'wait.cancelled': { ...conflictKind, text: () => 'The caller gave up the wait. The message is stored.' },
  'cli.unknown': { ...usageKind, text: (d) => `There is no CLI named "${d.cli}" here. There are ${list(d.clis)}.` },
  'cli.not-installed': { ...notFoundKind, text: (d) => notInstalledText(`${d.program}`, `${d.install}`) },
  'directory.unknown': { ...usageKind, text: (d) => `There is no directory ${d.path}.` },
  'directory.required': { ...usageKind, text: () => 'It is not known where the program should work.' },
  'directory.private': {
    ...deniedKind,
    text: (d) => `${d.path} belongs to the relay's own data: no program is started there. Name another directory.`,
  },
  'directory.outside': {
    ...deniedKind,
    text: (d) =>
      `${d.path} is not a directory inside the project, and over HTTP and WebSocket only the holder of the key has work done elsewhere. ${outsideFix(d)}`,
  },
  'spawn.denied': { ...deniedKind, text: (d) => `No program is started: ${d.why}` },
  'workspace.unknown': {
    ...notFoundKind,
    text: (d) => `No workspace "${d.workspace}" is open here.${suggestionText(d.nearest, 'Did you mean')}`,
  },
  'workspace.closed': { ...notFoundKind, text: (d) => `Workspace "${d.workspace}" is not open.` },
  'workspace.exists': {
    ...conflictKind,
    text: (d) => `A workspace "${d.workspace}" exists already. Its data: ${d.path}`,
  },
  'workspace.busy': {
    ...conflictKind,
    text: (d) =>
      `Workspace "${d.workspace}" is in use by ${list(d.agents)}. ` +
      `To ${d.verb ?? 'remove'} it all the same: agent-relay ${d.verb === 'reconcile' ? 'cluster' : 'workspace'} ${d.verb ?? 'remove'} ${d.workspace} --force`,
  },
  'workspace.pruning': {
    ...conflictKind,
    text: (d) => `Workspace "${d.workspace}" is being pruned already. Try again when that is done.`,
  },
  'workspace.removed': {
    ...notFoundKind,
    http: 410,
    text: (d) => `Workspace "${d.workspace}" was removed by its owner.`,
  },
  'config.invalid': {
    retry: false,
    http: 500,
    exit: 78,
    text: (d) => `${d.path}: ${d.why}. Nothing was changed; fix the file or move it away.`,
  },
  'data.unusable': {
    ...deniedKind,
    http: 500,
    text: (d) =>
      `The data directory ${d.path} cannot be used: ${d.why}. It must be a directory that you own and can write to: ` +
      'fix it with chown or chmod, or choose another place with RELAY_DATA_DIR.',
  },
  'auth.denied': { ...deniedKind, text: (d) => `Not allowed: ${d.why}` },
  // The text deliberately is the same for a missing credential, an unknown credential and an unknown workspace, so that callers without a credential learn
  // nothing.
  'auth.required': {
    ...unauthenticatedKind,
    text: () => 'Send a valid workspace key or agent token: "Authorization: Bearer …".',
  },
  'payload.link': {
    ...deniedKind,
    text: () => 'This link is not valid, or it has expired. agent_status returns a new one.',
  },
  'auth.revoked': { ...unauthenticatedKind, text: (d) => `This session has ended: ${d.why} Connect with a valid one.` },
  'page.none': {
    ...notFoundKind,
    text: () =>
      'This daemon serves no page: it was started with --no-http. For a page: agent-relay daemon stop, then agent-relay daemon start',
  },
  'page.login': {
    ...unauthenticatedKind,
    text: (d) => `To log in to this page, open a link, which works once and for five minutes. To get one: ${d.command}`,
  },
  'origin.denied': {
    ...deniedKind,
    text: (d) =>
      `This relay does not allow ${d.header} "${d.value}". It answers at ${d.url}; ` +
      'to allow a web page: agent-relay up --allow-origin <origin>',
  },
  'route.unknown': { ...notFoundKind, text: (d) => `There is nothing at ${d.path}. There are ${list(d.routes)}.` },
  'method.unsupported': {
    ...usageKind,
    http: 405,
    text: (d) => `${d.path} does not support ${d.method}. It supports ${list(d.allowed)}.`,
  },
  'media.unsupported': { ...usageKind, http: 415, text: () => 'A POST needs the content type application/json.' },
  'port.taken': {
    ...busyKind,
    text: (d) =>
      `Port ${d.port} is taken by another program${d.owner ? ` (${d.owner})` : ''}. ` +
      `Choose one: agent-relay up --port ${d.next}`,
  },
  'bind.denied': { retry: false, http: 500, exit: 78, text: (d) => `Nothing listens at ${d.host}: ${d.why}` },
  'store.full': {
    ...busyKind,
    http: 507,
    exit: 1,
    text: () => 'The disk is full: nothing was stored. Free some space and try again.',
  },
  'store.replaced': {
    retry: false,
    http: 500,
    exit: 78,
    text: (d) =>
      `${d.path} is no longer the file that this daemon wrote: ${d.reason}. Nothing is acknowledged any more, and the daemon stops. ` +
      `If a file was moved away, move it back and start again: agent-relay daemon start --project ${d.workspace}\n${databaseFixes(d)}`,
  },
  'call.abandoned': { ...busyKind, text: () => 'The caller left before the answer was ready. Ask again.' },
  'daemon.stopping': { ...busyKind, text: () => 'The relay daemon is stopping. Try again when it has started.' },
  'daemon.descriptors': {
    ...busyKind,
    text: (d) =>
      `The daemon may not open another file${d.limit === undefined ? '' : ` (its limit is ${d.limit})`}. Raise the limit with: ulimit -n 65536, then: agent-relay daemon restart`,
  },
  'session.stalled': {
    ...busyKind,
    text: (d) => `The connection read nothing for ${d.seconds} s and was closed. Nothing is lost: reconnect.`,
  },
  'input.invalid': { ...usageKind, text: (d) => `Invalid input for ${d.operation}: ${d.why}` },
  'call.reused': {
    ...conflictKind,
    text: (d) =>
      `The call id ${d.id} was already used for another call (${d.operation}), so nothing was done. ` +
      'An id names one call: send a new call under a new id, and the same id only to repeat the same call.',
  },
  'operation.unknown': { ...notFoundKind, exit: 2, text: (d) => `There is no operation "${d.operation}".` },
  'connections.full': {
    ...busyKind,
    text: (d) =>
      `All ${d.count} connections of this port are in use. Close one that is not needed, or try again in a moment.`,
  },
  ...frameRefusals,
  fault: { retry: true, http: 500, exit: 1, text: (d) => `The daemon failed: ${d.why}` },
} satisfies Record<string, RefusalRule>

export type RefusalCode = keyof typeof refusals

export interface Refusal {
  code: RefusalCode
  message: string
  retry: boolean
  details: RefusalDetails
}

/** Makes a refusal with the message for programs. `messageFor` returns the message for other readers. */
export function refusal(code: RefusalCode, details: RefusalDetails = {}): Refusal {
  return { code, message: wholeText(code, details, 'program'), retry: refusals[code].retry, details }
}

/** Returns the message of a refusal for this kind of reader. A message that is not from this table (for instance from a newer daemon) is returned unchanged. */
export function messageFor(
  reader: RefusalReader,
  { code, message, details = {} }: { code?: unknown; message: string; details?: RefusalDetails },
): string {
  if (!isRefusalCode(code) || message !== refusal(code, details).message) return message
  return wholeText(code, details, reader)
}

function wholeText(code: RefusalCode, details: RefusalDetails, reader: RefusalReader): string {
  const fix = fixFor(code, details, reader)
  const text = (refusals[code] as RefusalRule).text(details)
  return fix === '' ? text : `${text} ${fix}`
}

export function isRefusalCode(code: unknown): code is RefusalCode {
  return typeof code === 'string' && Object.hasOwn(refusals, code)
}
