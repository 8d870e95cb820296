// Reads the state of this machine's cluster for commands, and formats one of its machines as text.

import { isLoginRefused, withClient } from '../../../cluster/postgres/connection.ts'
import { type ClusterStatus, clusterStatusOf } from '../../../cluster/postgres/status.ts'
import { type ClusterMembership, clusterAddressText } from '../../../machine/cluster-file.ts'
import { CommandError, exitCodes } from '../../command.ts'
import { dateTimeText } from '../../text.ts'
import { clusterError } from './server.ts'

export async function clusterStatus(place: ClusterMembership): Promise<ClusterStatus> {
  const found = await withClient(place, clusterStatusOf).catch((error) => {
    const { message } = clusterError(error, place)
    throw new CommandError(message, isLoginRefused(error, place) ? exitCodes.denied : exitCodes.notRunning)
  })
  if (found) return found
  throw new CommandError(
    `${clusterAddressText(place)}: this machine, ${place.machine}, was removed there. Ask who runs the database to invite it again.`,
    exitCodes.denied,
  )
}

export function machineText(
  { name, version, seenAt, revokedAt }: ClusterStatus['machines'][number],
  own: string,
): string {
  const notes = [
    ...(name === own ? ['this one'] : []),
    ...(revokedAt === undefined ? [] : [`removed ${dateTimeText(revokedAt)}`]),
    ...(version === undefined ? ['no daemon yet'] : [`agent-relay ${version}`]),
    ...(seenAt === undefined ? [] : [`last seen ${dateTimeText(seenAt)}`]),
  ]
  return notes.join(', ')
}
