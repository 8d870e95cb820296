// The state of this machine's cluster, as commands ask for it, and one of its machines in words.

import { isLoginRefused, withClient } from '../../../cluster/postgres/connection.ts'
import { type ClusterStatus, statusOf } from '../../../cluster/postgres/status.ts'
import { type Membership, placeText } from '../../../machine/cluster-file.ts'
import { CommandError, exits } from '../../command.ts'
import { dateTimeOf } from '../../text.ts'
import { explained } from './server.ts'

export async function clusterStatus(place: Membership): Promise<ClusterStatus> {
  const found = await withClient(place, statusOf).catch((error) => {
    const { message } = explained(error, place)
    throw new CommandError(message, isLoginRefused(error, place) ? exits.denied : exits.notRunning)
  })
  if (found) return found
  throw new CommandError(
    `${placeText(place)}: this machine, ${place.machine}, was removed there. Ask who runs the database to invite it again.`,
    exits.denied,
  )
}

export function machineText(
  { name, version, seenAt, revokedAt }: ClusterStatus['machines'][number],
  own: string,
): string {
  const notes = [
    ...(name === own ? ['this one'] : []),
    ...(revokedAt === undefined ? [] : [`removed ${dateTimeOf(revokedAt)}`]),
    ...(version === undefined ? ['no daemon yet'] : [`agent-relay ${version}`]),
    ...(seenAt === undefined ? [] : [`last seen ${dateTimeOf(seenAt)}`]),
  ]
  return notes.join(', ')
}
