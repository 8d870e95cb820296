// A shared workspace without copied content.

import { beginMoveIn, finishMoveIn } from '../../src/cluster/postgres/moving.ts'
import type { PostgresCluster } from '../../src/cluster/postgres/postgres-cluster.ts'

/** Asked again, it is the same. */
export async function emptyWorkspace(cluster: PostgresCluster, id: string, name = id): Promise<void> {
  if ((await beginMoveIn(cluster, id, name)) === 'ok') await finishMoveIn(cluster, id, 0)
}
