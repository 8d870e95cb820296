// A workspace is moved into a cluster and back by a daemon that is killed in the middle, again and again: it is whole before or whole after.

import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { inTrial, sleep, type Trial, trialProject } from '@agent-relay/prove/harness/processes'
import { callOnce, type Frame } from '@agent-relay/prove/harness/raw'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { installedRelay } from '../../packages/relay/src/cli/own-relay.ts'
import { PostgresCluster } from '../../packages/relay/src/cluster/postgres/postgres-cluster.ts'
import { ClusterFile, SharedWorkspaceFile } from '../../packages/relay/src/machine/cluster-file.ts'
import { Store } from '../../packages/relay/src/store/store.ts'
import { PostgresServer, type PostgresWorld } from '../../packages/relay/tests/cluster/postgres-server.ts'
import { guardMs } from '../guard.ts'
import { dump } from '../sim/audit.ts'
import { sized } from '../size.ts'
import { until } from '../until.ts'
import { fill } from './harness/million.ts'
import { seeded } from './harness/seeded.ts'

const [messages, kills] = [sized(2_000, 100_000), sized(2, 12)]
/** A kill comes at some time within this. */
const withinMs = sized(400, 12_000)

let server: PostgresServer
let world: PostgresWorld
beforeAll(async () => {
  server = await PostgresServer.start()
  world = await server.cluster('team')
})
afterAll(() => server?.end())

/** All entries up to a number, as one text. */
function digestOf(path: string, through = Number.POSITIVE_INFINITY): { last: number; digest: string } {
  const store = new Store(path)
  const hash = createHash('sha256')
  let last = 0
  for (let isMore = true; isMore; ) {
    const entries = store.journal.entriesAfter(last, 1_000).filter(({ seq }) => seq <= through)
    for (const { seq, at, by, cause, rule, facts, body } of entries)
      hash.update(JSON.stringify([seq, at, by, cause, rule, facts, body]))
    isMore = entries.length === 1_000
    last = entries.at(-1)?.seq ?? last
  }
  store.close()
  return { last, digest: hash.digest('hex') }
}

function ask(scene: Trial, op: string): Promise<Frame> {
  return callOnce(scene.controlPath, op, { workspace: trialProject, force: true })
}

test('a workspace that is shared and taken back, with kills in between, loses nothing and changes no number', {
  timeout: sized(4, 40) * guardMs,
}, async () => {
  const random = seeded('moving')
  await inTrial({ relay: installedRelay }, async (scene) => {
    await (await scene.startDaemon()).end('SIGTERM')
    fill(scene.databasePath, messages, 20)
    const address = await world.join('one')
    new ClusterFile(scene.dataDir).write({ ...address, password: address.password as string, machine: 'one' })
    const before = digestOf(scene.databasePath)
    const shared = new SharedWorkspaceFile(scene.dataDir, trialProject)
    const cluster = new PostgresCluster(await world.join('watcher'))
    const isInCluster = async () => (await cluster.workspaces()).some(({ format }) => format > 0)
    const outcomes: string[] = []
    for (let i = 0; i < kills; i++) {
      const daemon = await scene.startDaemon()
      const op = shared.read() ? 'workspace.unshare' : 'workspace.share'
      const asked = ask(scene, op).catch(() => undefined)
      await sleep(random.below(withinMs))
      await daemon.end('SIGKILL')
      await asked
      // The next start finishes what was decided, or forgets what was not.
      await (await scene.startDaemon()).end('SIGTERM')
      expect(shared.read()?.phase).toBe(undefined)
      expect(existsSync(shared.path)).toBe(await isInCluster())
      expect(digestOf(scene.databasePath, before.last)).toEqual(before)
      outcomes.push(`${op.slice(10)} ${existsSync(shared.path) ? 'is shared' : 'is not'}`)
    }
    process.stdout.write(`moving: ${messages} messages, ${before.last} entries; ${outcomes.join(', ')}\n`)
    const daemon = await scene.startDaemon()
    if (!shared.read()) await expectMoved(scene, 'workspace.share')
    const other = cluster.journal((shared.read() as { id: string }).id)
    const first = await other.follow({ seq: 0, mark: '' }, 10)
    expect(first.kind === 'entries' && first.entries.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    await expectMoved(scene, 'workspace.unshare')
    expect(await isInCluster()).toBe(false)
    await daemon.end('SIGTERM')
    await cluster.close()
    expect(digestOf(scene.databasePath, before.last)).toEqual(before)
    const store = new Store(scene.databasePath)
    const rows = dump(store.database)
    store.rebuild()
    expect(dump(store.database) === rows).toBe(true)
    store.close()
  })
})

async function expectMoved(scene: Trial, op: string): Promise<void> {
  const start = performance.now()
  await until(async () => (await ask(scene, op)).type === 'ACK')
  process.stdout.write(`moving: ${op} took ${Math.round(performance.now() - start)} ms\n`)
}
