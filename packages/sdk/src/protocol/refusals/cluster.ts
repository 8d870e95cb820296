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
        ? `The cluster cannot be reached${placeText(d)}. Ask again later.`
        : `The shared workspace "${d.workspace}" cannot be reached${placeText(d)}: nothing was stored. What has come here can be read. Ask again later.`,
  },
  'cluster.unusable': {
    ...stopped,
    text: (d) =>
      `The server of ${d.workspace === undefined ? 'the cluster' : `the shared workspace "${d.workspace}"`} cannot be used${d.place === undefined ? '' : ` (${d.place})`}${d.workspace === undefined ? '' : ': nothing was stored'}. ${d.why} Once that is done, all goes on by itself.`,
  },
  'outbox.full': {
    ...later,
    http: 429,
    text: (d) =>
      `No more messages of ${d.of} may wait on this machine (at most ${d.messages}, and ${d.size} together): this one was neither stored nor queued.`,
  },
  'outbox.unknown': {
    retry: false,
    http: 404,
    exit: 1,
    text: (d) => `Nothing of yours waits here as ${d.id}: it was sent, or dropped.`,
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
      `The database of "${d.workspace}" has lost what it had acknowledged: it ends at ${d.head}, and this machine has seen another ` +
      `entry ${d.known}. Nothing more is stored from here. Bring back the database that has it, or what the machines have: agent-relay cluster reconcile ${d.workspace}`,
  },
  'cluster.newer': {
    ...stopped,
    text: (d) =>
      `A newer Agent Relay has written something to "${d.workspace}" that this one does not know. What came before can be read. Update this one.`,
  },
  'cluster.void': {
    retry: false,
    http: 409,
    exit: 1,
    text: (d) =>
      `Another machine of "${d.workspace}" has written something that contradicts this at the same moment, so this was not done (${d.why}). Do it again.`,
  },
  'cluster.older': {
    ...stopped,
    text: () =>
      'The database of this cluster was set up by an older Agent Relay. To bring it up to date, whoever administers it runs: agent-relay cluster init',
  },
  'cluster.forged': {
    ...stopped,
    text: (d) =>
      `The machine ${d.machine} has written ${d.agent === undefined ? 'what it may not write' : `as ${d.agent}, which is at home on another one`} (entry ${d.seq} of "${d.workspace}"). This machine ` +
      `accepts nothing that was written to the workspace from that entry on, and stores nothing in it. To go on, remove ${d.machine} from the workspace.`,
  },
  'cluster.owned': {
    retry: false,
    http: 403,
    exit: 77,
    text: (d) =>
      `"${d.workspace}" belongs to ${d.owner === undefined ? 'another machine' : `the machine ${d.owner}`}, and only its owner may do this. Do it there, ` +
      `have it handed over there (agent-relay workspace hand-over ${d.workspace} MACHINE), or have whoever administers the database give it to ` +
      `this machine: agent-relay cluster raise ${d.workspace} --owner MACHINE`,
  },
  'cluster.removed': {
    ...stopped,
    text: (d) =>
      `"${d.workspace}" is no longer shared: another machine has taken it back. What this one has can be read, and nothing can be sent. ` +
      `To remove the copy: agent-relay workspace remove ${d.workspace}`,
  },
  'cluster.none': {
    ...stopped,
    text: () =>
      'This machine belongs to no cluster, so nothing can be shared. To make one: agent-relay cluster init postgres://admin@db.example:5432/relay. ' +
      'To join one that is there: agent-relay machine join',
  },
  'cluster.name-taken': {
    retry: false,
    http: 409,
    exit: 1,
    text: (d) =>
      `The cluster has another workspace named "${d.workspace}", or one that is just being moved there. See: agent-relay cluster status`,
  },
  'workspace.name-shared': {
    ...conflictKind,
    text: (d) =>
      `The cluster of this machine ${d.unchecked ? 'does not answer, and when it did last it had' : 'has'} a shared workspace named "${d.workspace}", so none of this name was ` +
      `made here. To open the shared one: agent-relay workspace open ${d.workspace}. To make another one of this name on this machine alone, on purpose: ` +
      `${d.placing ? 'the same command with --local' : `agent-relay workspace create ${d.workspace} --local`}`,
  },
  'workspace.shared': {
    retry: false,
    http: 409,
    exit: 1,
    text: (d) => `Workspace "${d.workspace}" is shared already. See: agent-relay workspace list`,
  },
  'workspace.prune-shared': {
    retry: false,
    http: 409,
    exit: 1,
    text: (d) =>
      `Workspace "${d.workspace}" is shared: each machine has all of its journal, so nothing can be taken out of one copy. ` +
      `To prune it, take it back, and share it again when that is done: agent-relay workspace unshare ${d.workspace}`,
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
    text: (d) => `"${d.name}" is connected on ${d.machine}. End it there, or take another name here.`,
  },
  'agent.home-away': {
    ...later,
    http: 503,
    text: (d) =>
      `"${d.name}" is at home on ${d.machine}, which does not answer, and only that machine can let it go. Ask again when it is back, or take another name here.`,
  },
  'agent.elsewhere': {
    retry: false,
    http: 409,
    exit: 1,
    text: (d) => `"${d.name}" is at home on ${d.machine}, and acts there. Use it there, or take another name here.`,
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
      `The machine ${d.machine} ${d.lastHeard === undefined ? 'does not have this workspace open' : `cannot be reached (${d.lastHeard})`}, and only that one can do this: ` +
      'nothing was done. Ask again when it is back.',
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
      `The machine ${d.machine}, which alone can do this, has not answered: it is not known whether it was done. Ask again, and you are told.`,
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
      `${d.why === undefined ? `This machine was removed from ${clusterText(d)}.` : `This machine is not let in to ${clusterText(d)} any more. ${d.why}`} What it has can be read, and nothing can be sent. Ask who runs the database to let it in again.`,
  },
} as const satisfies Record<string, RefusalRule>
