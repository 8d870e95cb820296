import type { PostgresCluster } from '../../src/cluster/postgres/postgres-cluster.ts'
/** Asked again, it is the same. */
export declare function emptyWorkspace(cluster: PostgresCluster, id: string, name?: string): Promise<void>
