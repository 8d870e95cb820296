// The refusals about a workspace that several machines share. Part of the list in ../refusals.ts.

import { type RequestKind, requestTexts } from '../requests.ts'
import type { RefusalDetails } from './fixes.ts'
import { conflictKind, deniedKind, type RefusalRule } from './kinds.ts'

const later = { retry: true, exit: 75 }
const stopped = { retry: false, http: 503, exit: 78 }

/** Describes where the cluster's database is and why it does not answer: ` (db.example:5432, last heard of 42 s ago: connect ECONNREFUSED)` */
function placeText({ place, lastHeard, why }: RefusalDetails): string {
  if (place === undefined) return ''
  return ` (${place}${lastHeard === undefined ? '' : `, ${lastHeard}`}: ${why})`
}

const clusterText = ({ workspace }: RefusalDetails) => (workspace === undefined ? 'the cluster' : `"${workspace}"`)

export const clusterRefusals = {
  'cluster.unreachable': {
    ...later,
    http: 503,
    text: (d) =>
      d.workspace === undefined
        ? `The cluster cannot be reached${placeText(d)}. Try again later.`
        : `The shared workspace "${d.workspace}" cannot be reached${placeText(d)}: nothing was stored. What arrived here before can still be read. Try again later.`,
  },
  'cluster.unusable': {
    ...stopped,
    text: (d) =>
      `The server of ${d.workspace === undefined ? 'the cluster' : `the shared workspace "${d.workspace}"`} cannot be used${d.place === undefined ? '' : ` (${d.place})`}${d.workspace === undefined ? '' : ': nothing was stored'}. ${d.why} After that, the daemon goes on by itself.`,
  },
  'outbox.full': {
    ...later,
    http: 429,
    text: (d) =>
      `Too many messages of ${d.of} wait on this machine already (at most ${d.messages}, and ${d.size} together): this one was neither stored nor queued.`,
  },
  'outbox.unknown': {
    retry: false,
    http: 404,
    exit: 1,
    text: (d) => `You have no waiting message ${d.id} here: it was sent or dropped.`,
  },
  'cluster.unknown': {
    ...later,
    http: 504,
    text: (d) =>
      'It is not known whether this was stored: the connection broke before the answer came. ' +
      `Ask again with the same id (${d.id}): it will be stored only once.`,
  },
  'cluster.diverged': {
    ...stopped,
    text: (d) =>
      `The database of "${d.workspace}" has lost entries that it had acknowledged: it ends at ${d.head}, but this machine has seen another ` +
      `entry ${d.known}. This machine stores nothing more in it. Bring back the database that has the entry, or restore it from the machines: agent-relay cluster reconcile ${d.workspace}`,
  },
  'cluster.newer': {
    ...stopped,
    text: (d) =>
      `A newer Agent Relay has written an entry to "${d.workspace}" that this version does not know. Earlier entries can be read. Update Agent Relay on this machine.`,
  },
  'cluster.void': {
    retry: false,
    http: 409,
    exit: 1,
    text: (d) =>
      `Another machine of "${d.workspace}" made a conflicting change at the same moment, so yours was not made (${d.why}). Try again.`,
  },
  'cluster.older': {
    ...stopped,
    text: () =>
      'The database of this cluster was set up by an older Agent Relay. Its administrator brings it up to date with: agent-relay cluster init',
  },
  'cluster.forged': {
    ...stopped,
    text: (d) =>
      `The machine ${d.machine} has written ${d.agent === undefined ? 'an entry that it may not write' : `as ${d.agent}, whose home is another machine`} (entry ${d.seq} of "${d.workspace}"). This machine ` +
      `accepts nothing in the workspace from that entry on, and stores nothing in it. To go on, remove ${d.machine} from the workspace.`,
  },
  'cluster.owned': {
    retry: false,
    http: 403,
    exit: 77,
    text: (d) =>
      `"${d.workspace}" belongs to ${d.owner === undefined ? 'another machine' : `the machine ${d.owner}`}, and only its owner may do this. Run the command there, ` +
      `hand the workspace over there (agent-relay workspace hand-over ${d.workspace} MACHINE), or let the administrator of the database give it to ` +
      `this machine: agent-relay cluster raise ${d.workspace} --owner MACHINE`,
  },
  'cluster.removed': {
    ...stopped,
    text: (d) =>
      `"${d.workspace}" is no longer shared: its owner has taken it back. The copy on this machine can be read, but nothing can be sent. ` +
      `To remove the copy: agent-relay workspace remove ${d.workspace}`,
  },
  'cluster.none': {
    ...stopped,
    text: () =>
      'This machine belongs to no cluster, so nothing can be shared. To make a cluster: agent-relay cluster init postgres://admin@db.example:5432/relay. ' +
      'To join one that exists: agent-relay machine join',
  },
  'cluster.name-taken': {
    retry: false,
    http: 409,
    exit: 1,
    text: (d) =>
      `The cluster has another workspace named "${d.workspace}", or one of that name is being moved there. See: agent-relay cluster status`,
  },
  'workspace.name-shared': {
    ...conflictKind,
    text: (d) =>
      `The cluster of this machine ${d.unchecked ? 'does not answer, and when it last did, it had' : 'has'} a shared workspace named "${d.workspace}", so none of this name was ` +
      `created here. To open the shared one: agent-relay workspace open ${d.workspace}. To create another one of this name on this machine alone: ` +
      `${d.placing ? 'the same command with --local' : `agent-relay workspace create ${d.workspace} --local`}`,
  },
  'workspace.shared': {
    retry: false,
    http: 409,
    exit: 1,
    text: (d) => `Workspace "${d.workspace}" is already shared. See: agent-relay workspace list`,
  },
  'workspace.prune-shared': {
    retry: false,
    http: 409,
    exit: 1,
    text: (d) =>
      `Workspace "${d.workspace}" is shared: each machine has the whole journal, so nothing can be removed from one copy alone. ` +
      `To prune it, take it back, and share it again afterwards: agent-relay workspace unshare ${d.workspace}`,
  },
  'workspace.unshared': {
    retry: false,
    http: 409,
    exit: 1,
    text: (d) =>
      `Workspace "${d.workspace}" lives on this machine alone. To share it: agent-relay workspace share ${d.workspace}`,
  },
  'agent.in-use-elsewhere': {
    retry: false,
    http: 409,
    exit: 1,
    text: (d) => `"${d.name}" is connected on ${d.machine}. End that session, or choose another name here.`,
  },
  'agent.home-away': {
    ...later,
    http: 503,
    text: (d) =>
      `"${d.name}" has its home on ${d.machine}, which does not answer, and only that machine can release it. Try again when it is back, or choose another name here.`,
  },
  'agent.elsewhere': {
    retry: false,
    http: 409,
    exit: 1,
    text: (d) =>
      `"${d.name}" has its home on ${d.machine} and is used there. Use it there, or choose another name here.`,
  },
  'machine.not-allowed': {
    retry: false,
    http: 403,
    exit: 77,
    text: (d) =>
      `Only the machine that owns the workspace may do this${d.owner === undefined ? '' : `: ${d.owner}`}. Do it there.`,
  },
  'machine.away': {
    ...later,
    http: 503,
    text: (d) =>
      `The machine ${d.machine} ${d.lastHeard === undefined ? 'does not have this workspace open' : `cannot be reached (${d.lastHeard})`}, and only that machine can do this: ` +
      'nothing was done. Try again when it is back.',
  },
  'request.denied': {
    ...deniedKind,
    text: (d) =>
      `The machine ${d.machine} does not let ${d.from} ${requestTexts[d.kind as RequestKind]}: nothing was done.`,
  },
  'request.refused': {
    ...conflictKind,
    text: (d) => `The machine ${d.machine}, which alone can do this, has refused it (${d.code}).`,
  },
  'request.unanswered': {
    ...later,
    http: 504,
    text: (d) =>
      `The machine ${d.machine}, which alone can do this, has not answered: it is not known whether it was done. Ask again to find out.`,
  },
  'machine.fenced': {
    ...stopped,
    text: (d) =>
      `This machine's identity in "${d.workspace}" is used by a daemon that started later. Stop one of the two; a copied data directory ` +
      'needs an identity of its own.',
  },
  'machine.revoked': {
    ...stopped,
    text: (d) =>
      `${d.why === undefined ? `This machine was removed from ${clusterText(d)}.` : `This machine may no longer use ${clusterText(d)}. ${d.why}`} Its copy can be read, but nothing can be sent. Ask the administrator of the database to admit it again.`,
  },
} as const satisfies Record<string, RefusalRule>
