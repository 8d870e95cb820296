// Sends damaged (mutated) frames to a live daemon, while another session goes on as if nothing happened.

import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { LatencyProbe } from '../harness/latency-probe.ts'
import { FrameMutator } from '../harness/mutator.ts'
import { inTrial, type Trial, type TrialOptions } from '../harness/processes.ts'
import type { Random } from '../harness/random.ts'
import { frameOf, RawConnection } from '../harness/raw.ts'
import { frameAttacks } from './frames.ts'

const lanes = 8
const perBatch = 25
/** How long an answer may take before it counts as a hang; a busy machine may need five times the usual time. */
const answerMsMax = waitLimitMs('prove')

export interface FramesSize {
  mutated: number
  /** How long mutated frames are sent, counted from the first frame after the warm-up. */
  msMax?: number
  answerMs?: number
}

/**
 * `wrong`: the faults that the hand-made hostile frames have found. `rssMb`: the daemon's memory at four times: before the trial, after the hand-made frames,
 * after the first tenth of the mutated frames (the warm-up), and after all.
 */
export function hostileFrames(random: Random, size: FramesSize, options: TrialOptions) {
  const { mutated, msMax = Number.POSITIVE_INFINITY, answerMs = answerMsMax } = size
  return inTrial(options, async (trial) => {
    const daemon = await trial.startDaemon()
    const other = await RawConnection.connectAs(trial.socketPath, 'other')
    const witness = await LatencyProbe.start(trial)
    const rssMbBefore = daemon.rssMb()
    const wrong = await attackFrames(trial, answerMs)
    const rssMbUnkind = daemon.rssMb()
    const open = () => RawConnection.open(trial.socketPath)
    await sendMutatedFrames(open, random, Math.ceil(mutated / 10)) // A warm-up: afterwards the daemon's code is compiled and its caches are full.
    const rssMbWarm = daemon.rssMb()
    const from = performance.now()
    const goesOn = (sent: number) => {
      trial.reportProgress(`${sent} of ${mutated} mutated frames`)
      return performance.now() < from + msMax
    }
    const { sent, connections, faults } = await sendMutatedFrames(open, random, mutated, {}, goesOn)
    const seconds = (performance.now() - from) / 1000
    const testimony = await witness.end(answerMs)
    const rssMb = { before: rssMbBefore, unkind: rssMbUnkind, warm: rssMbWarm, after: daemon.rssMb() }
    await other.end()
    const { code: exit } = await daemon.end('SIGTERM')
    const daemonErrors = daemon.errors
    return { wrong, faults, mutated: sent, connections, seconds, rssMb, witness: testimony, exit, daemonErrors }
  })
}

async function attackFrames(trial: Trial, answerMs: number): Promise<string[]> {
  const { socketPath } = trial
  const wrong: string[] = []
  for (const [name, attack] of Object.entries(frameAttacks)) {
    trial.reportProgress(name)
    const raw = await RawConnection.connectAs(socketPath, 'raw')
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<string>((resolve) => {
      timer = setTimeout(resolve, answerMs, `no answer within ${answerMs / 1000} s`)
    })
    const found = await Promise.race([attack(raw, socketPath), late])
    clearTimeout(timer)
    if (found !== undefined) wrong.push(`${name}: ${found}`)
    await raw.end()
  }
  return wrong
}

export async function sendMutatedFrames(
  open: () => Promise<RawConnection>,
  random: Random,
  count: number,
  credential: object = {},
  goesOn: (sent: number) => boolean = () => true,
) {
  const mutator = new FrameMutator(random)
  const faults = new Set<string>()
  let [sent, connections] = [0, 0]
  const lane = async (name: string) => {
    while (sent < count && goesOn(sent)) {
      const raw = await open()
      connections++
      let answers = 0
      raw.onFrame = ({ type, payload }) => {
        answers++
        // A refusal is a proper answer; the code `fault` means that the daemon did not foresee the frame.
        if (type === 'ERROR' && payload.code === 'fault') faults.add(payload.message)
      }
      if ((await raw.ask('HELLO', { name, ...credential })).type === 'WELCOME') {
        for (let batch = 0; sent < count && !raw.isClosed && goesOn(sent); batch++) {
          answers = 0
          const pong = raw.answer(`done-${batch}`)
          for (let i = 0; i < perBatch; i++) raw.write(mutator.next())
          raw.write(frameOf('PING', `done-${batch}`, {}))
          // If the connection ended during a batch of frames, only the frames that were answered count as sent.
          const { type } = await pong
          sent += type === 'PONG' ? perBatch : Math.min(perBatch, answers)
        }
      }
      await raw.end()
    }
  }
  await Promise.all(Array.from({ length: lanes }, (_, i) => lane(`mutant-${i < 2 ? 'ab'[i] : i}`)))
  return { sent, connections, faults: [...faults] }
}
