// The outbox of a machine that is cut off, while its daemon is killed and its connection to the database comes and goes: each message that it has
// accepted is stored once and in its order.

import { inTrial, sleep, trialProject } from '@agent-relay/prove/harness/processes'
import { callOnce, RawConnection } from '@agent-relay/prove/harness/raw'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { installedRelay } from '../../packages/relay/src/cli/own-relay.ts'
import { ClusterFile } from '../../packages/relay/src/machine/cluster-file.ts'
import { PostgresServer } from '../../packages/relay/tests/cluster/postgres-server.ts'
import { guardMs } from '../guard.ts'
import { isFull } from '../size.ts'
import { until } from '../until.ts'
import { seeded } from './harness/seeded.ts'
import { Way } from './harness/way.ts'

const [kills, batch] = [50, 5]
/** A kill comes at some time within this after the way is open again: messages are being sent then. */
const withinMs = 1_500

let server: PostgresServer
beforeAll(async () => {
  if (isFull) server = await PostgresServer.start()
})
afterAll(() => server?.end())

test.runIf(isFull)(
  'what was queued is stored once and in order, whatever is killed or cut meanwhile',
  {
    timeout: 30 * guardMs,
  },
  async () => {
    const random = seeded('outbox')
    const world = await server.cluster('outbox')
    const way = new Way(server.folder)
    await inTrial({ relay: installedRelay }, async (scene) => {
      scene.onDispose(() => way.end())
      let daemon = await scene.startDaemon()
      const { password = '', ...address } = await world.join('one')
      new ClusterFile(scene.dataDir).write({ ...address, host: way.folder, password, machine: 'one' })
      const shared = await callOnce(scene.controlPath, 'workspace.share', { workspace: trialProject, force: true })
      expect(shared.type).toBe('ACK')
      const enter = () => RawConnection.connectAs(scene.socketPath, 'ada')
      for (const name of ['bob', 'ada']) await (await RawConnection.connectAs(scene.socketPath, name)).end()
      const kept: string[] = []
      let said = 0
      for (let n = 0; n < kills; n++) {
        way.loses = 'all'
        way.hangUp()
        let ada = await enter()
        for (let i = 0; i < batch; i++) {
          const body = `message ${said++}`
          const { type, payload } = await ada.call('message.queue', { to: 'bob', body })
          // One that had left before the way was cut may be stored without an answer: then it is queued under the same id.
          if (type === 'ACK') kept.push(body)
          else expect(payload.code).toBe('connection.lost')
        }
        await ada.end()
        way.loses = random.below(3) === 0 ? 'answers' : 'nothing'
        await sleep(random.below(withinMs))
        await daemon.end('SIGKILL')
        way.loses = 'nothing'
        way.hangUp()
        daemon = await scene.startDaemon()
        ada = await enter()
        await ada.end()
      }
      const ada = await enter()
      await until(async () => (await ada.call('outbox.list', {})).payload.queued.length === 0)
      const { payload } = await ada.call('message.list', { conversation: '@ada,bob', limit: 500 })
      const stored = payload.messages.map(({ body }: { body: string }) => body)
      process.stdout.write(`outbox: ${kept.length} kept over ${kills} kills, ${stored.length} stored\n`)
      expect(stored).toEqual(kept)
      await daemon.end('SIGTERM')
    })
  },
)
