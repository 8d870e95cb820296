// Texts for people about troubles of a workspace that several machines share: the cluster's server does not answer, this machine has stopped following the
// workspace, messages wait to be sent, entries of some machines are ignored, or entries are accepted unchecked.

import type { VoidEntry } from './journal.ts'

/** Why and since when the cluster's server does not answer. */
export interface ClusterOutage {
  /** The address of the database server, as it is shown to people. */
  place: string
  why: string
  /** The time of the server's last answer. Unset if it has not answered since the daemon started. */
  since?: string
  /** Set if the server stays unusable until somebody has done what `why` says. */
  isLasting?: true
}

export interface SharedTrouble {
  name: string
  /** Set if this machine has stopped following the workspace, until somebody does what the text says. */
  stopped?: { code: string; text: string }
  cutOff?: ClusterOutage
  /** Number of messages that wait on this machine to be sent. */
  queued?: number
  voids?: VoidEntry[]
  isUnjudged?: boolean
}

/** One trouble. `fix` says what to do about it; unset if the text says so itself. */
export interface TroubleText {
  text: string
  fix?: string
}

export function troublesOf({ name, stopped, cutOff, queued, voids = [], isUnjudged }: SharedTrouble): TroubleText[] {
  const found: TroubleText[] = []
  if (stopped) found.push({ text: stopped.text })
  else if (cutOff) found.push({ text: cutOffText(name, cutOff) })
  if (queued)
    found.push({
      text: `In ${name}, ${queued} not sent yet: ${queued === 1 ? 'it waits' : 'they wait'} on this machine.`,
      fix: 'agent-relay outbox',
    })
  if (isUnjudged)
    found.push({
      text: `In ${name}, entries of other machines are accepted unchecked: an older version shared it.`,
      fix: `agent-relay cluster raise ${name}, by whoever administers the database`,
    })
  for (const { seq, machine, why } of voids)
    found.push({
      text: `In ${name}, entry ${seq} of machine ${machine} is ignored: ${why}.`,
      fix: `agent-relay machine revoke ${machine}`,
    })
  return found
}

export function troubleTexts(trouble: SharedTrouble): string[] {
  return troublesOf(trouble).map(({ text }) => text)
}

function cutOffText(name: string, { place, why, since, isLasting }: ClusterOutage): string {
  const last = since === undefined ? 'It has not answered since the daemon started' : `It answered last at ${since}`
  const here = 'Messages that are already on this machine can be read; none can be sent. It continues by itself'
  if (isLasting) return `The server of "${name}" cannot be used (${place}): ${why} ${last}. ${here} once that is done.`
  return `"${name}" cannot be reached at ${place} (${why}). ${last}. ${here} once the server answers.`
}
