// The HTTP port and its WebSockets under strangers and broken clients: mutated frames and requests, abandoned sessions, slow-loris.
// At the end a minute of silence, and then the memory and descriptors that are left.

import { LatencyProbe, type LatencyReport } from '@agent-relay/prove/harness/latency-probe'
import { MemoryMeter } from '@agent-relay/prove/harness/meter'
import { inTrial, sleep } from '@agent-relay/prove/harness/processes'
import { RawConnection } from '@agent-relay/prove/harness/raw'
import { sendMutatedFrames } from '@agent-relay/prove/scenarios/fuzz'
import { installedRelay } from '../../../packages/relay/src/cli/own-relay.ts'
import { until } from '../../until.ts'
import { seeded } from '../harness/seeded.ts'
import { type Abandoned, abandonSessions } from './abandoned.ts'
import { fuzzHttp } from './http-fuzz.ts'
import { type Loris, slowLoris } from './loris.ts'

export interface NetworkSizes {
  frames: number
  requests: number
  /** Of each era. */
  sessions: number
  connections: number
  /** Whether slow connections are watched until the last one is gone. */
  isToTheEnd: boolean
  idleMs: number
}

export interface NetworkReport {
  faults: string[]
  seconds: Record<string, number>
  statuses: Record<number, number>
  abandoned: Abandoned
  loris: Loris
  /** After a tenth of the mutated ones, after all of them, with as many sessions as the daemon keeps, the most, and a minute after all. */
  rssMb: Record<'warm' | 'fuzzed' | 'full' | 'most' | 'after', number>
  descriptors: Record<'warm' | 'after', number>
  witness: LatencyReport
  exit: number | null
  daemonErrors: string
}

/** What may be open at the end that was not at the beginning. */
export const descriptorsMoreMax = 80
/** Sessions that the daemon keeps of each kind, and some. */
const keptMax = 1_200

export function hostileNetwork(sizes: NetworkSizes): Promise<NetworkReport> {
  return inTrial({ relay: installedRelay }, async (scene) => {
    const random = seeded('hostile network')
    const daemon = await scene.startDaemon({ hasHttp: true })
    const witness = await LatencyProbe.start(scene)
    const seconds: Record<string, number> = {}
    const timed = async <T>(name: string, work: Promise<T>): Promise<T> => {
      const from = performance.now()
      const done = await work
      seconds[name] = Math.round((performance.now() - from) / 100) / 10
      return done
    }
    const { url } = daemon
    const { key } = scene
    const open = () => RawConnection.openWebSocket(url)
    await sendMutatedFrames(open, random, Math.min(20_000, sizes.frames / 10), { key })
    await fuzzHttp(url, key, random, Math.min(20_000, sizes.requests / 10))
    const warm = { rssMb: daemon.rssMb(), descriptors: daemon.descriptors() }
    const meter = new MemoryMeter(daemon)
    const frames = await timed('frames', sendMutatedFrames(open, random, sizes.frames, { key }))
    const requests = await timed('requests', fuzzHttp(url, key, random, sizes.requests))
    const fuzzed = daemon.rssMb()
    await timed('full', abandonSessions(scene, daemon, Math.min(keptMax, sizes.sessions)))
    const full = daemon.rssMb()
    const abandoned = await timed('abandoned', abandonSessions(scene, daemon, sizes.sessions))
    const loris = await timed('loris', slowLoris(scene, daemon, sizes.connections, sizes.isToTheEnd))
    const most = meter.stop()
    const testimony = await witness.end()
    await timed('idle', sleep(sizes.idleMs))
    // Those that have left are closed one by one.
    await until(() => daemon.descriptors() < warm.descriptors + descriptorsMoreMax)
    const after = { rssMb: daemon.rssMb(), descriptors: daemon.descriptors() }
    const exit = (await daemon.end('SIGTERM')).code
    return {
      faults: [...frames.faults, ...requests.faults],
      seconds,
      statuses: requests.statuses,
      abandoned,
      loris,
      rssMb: { warm: warm.rssMb, fuzzed, full, most, after: after.rssMb },
      descriptors: { warm: warm.descriptors, after: after.descriptors },
      witness: testimony,
      exit,
      daemonErrors: daemon.errors,
    }
  })
}
