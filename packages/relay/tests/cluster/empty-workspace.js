// A shared workspace that nothing was copied into.
import { moveEnd, moveIn } from '../../src/cluster/postgres/moving.js'
/** Asked again, it is the same. */
export async function emptyWorkspace(cluster, id, name = id) {
  if ((await moveIn(cluster, id, name)) === 'ok') await moveEnd(cluster, id, 0)
}
//# sourceMappingURL=empty-workspace.js.map
