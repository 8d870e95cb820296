// `npm run bench`: measures speed and weight, as medians of interleaved rounds, and prints one table. A missed ratio ends it with 1.
// `--short` takes fewer rounds, for work on the code; `--only WORD` runs the parts whose name holds the word, also the long ones by hand.

import { measureAbsent } from './absent.ts'
import { measureAcp } from './acp.ts'
import { measureActions } from './actions.ts'
import { measureApprovals } from './approvals.ts'
import { measureChannels } from './channels.ts'
import { measureClaims } from './claims.ts'
import { measureCluster } from './cluster.ts'
import { measureDelivery } from './delivery.ts'
import { measureEndFile } from './end-file.ts'
import {
  measureBackup,
  measureDisk,
  measureFlood,
  measureFrames,
  measurePort,
  measurePrune,
  measureReads,
  measureStalls,
  measureStops,
} from './hardship.ts'
import { measureIdle } from './idle.ts'
import { measureManyMachines } from './machines.ts'
import { measurePage } from './page.ts'
import { measurePerson } from './person.ts'
import { measurePipe } from './pipe.ts'
import { measureRuns } from './runs.ts'
import { measureSends } from './sends.ts'
import { measureStart } from './start.ts'
import { isFailure, type Measure, print } from './table.ts'
import { measureTexts } from './texts.ts'
import { measureUnread } from './unread.ts'
import { measureWeights } from './weights.ts'
import { measureWorkers } from './worker.ts'

const isShort = process.argv.includes('--short')
const onlyAt = process.argv.indexOf('--only')
const only = onlyAt > 0 ? process.argv[onlyAt + 1] : undefined

const parts: Record<string, () => Promise<Measure[]>> = {
  sends: () => measureSends(isShort ? { rounds: 2, ms: 700 } : { rounds: 7, ms: 1_500 }),
  'end-file': () => measureEndFile(isShort ? { rounds: 3, commits: 100 } : { rounds: 9, commits: 300 }),
  person: () => measurePerson(isShort ? { rounds: 3, ms: 700 } : { rounds: 7, ms: 1_000 }),
  delivery: () => measureDelivery(isShort ? { rounds: 2, ms: 1_000 } : { rounds: 5, ms: 3_000 }),
  cluster: () => measureCluster(isShort ? { rounds: 2, ms: 700 } : { rounds: 7, ms: 1_500 }),
  channels: () => measureChannels(isShort ? { rounds: 3, ms: 500 } : { rounds: 9, ms: 1_000 }),
  unread: () => (isShort ? measureUnread(100_000, 1) : measureUnread(1_000_000, 5)),
  actions: () => measureActions(isShort ? { rounds: 2, calls: 100 } : { rounds: 5, calls: 300 }),
  runs: () => measureRuns(isShort ? { rounds: 2, calls: 100, ms: 1_000 } : { rounds: 5, calls: 200, ms: 2_000 }),
  idle: () => (isShort ? measureIdle(1, 50) : measureIdle(3, 500)),
  start: () => measureStart(isShort ? 15 : 60),
  acp: () => measureAcp(isShort ? { rounds: 5, ms: 5_000 } : { rounds: 25, ms: 20_000 }),
  approvals: () => measureApprovals(isShort ? 20 : 100),
  worker: () => measureWorkers({ rounds: isShort ? 5 : 15 }),
  claims: () => measureClaims(isShort ? { rounds: 10, checks: 50 } : { rounds: 40, checks: 200 }),
  pipe: () => measurePipe(isShort ? { rounds: 3, calls: 200 } : { rounds: 7, calls: 500 }),
  absent: () => measureAbsent(isShort ? 10 : 40),
  page: () => measurePage(isShort ? { rounds: 1, seconds: 2 } : { rounds: 3, seconds: 4 }),
  texts: () => measureTexts(isShort ? 5 : 25),
  weights: () => measureWeights(),
  stops: () => measureStops(isShort ? 1 : 5),
  backup: () => (isShort ? measureBackup(20_000, 1) : measureBackup(500_000, 3)),
  prune: () => (isShort ? measurePrune(600, 1) : measurePrune(3_000, 3)),
  flood: () => measureFlood(isShort ? 20 : 1_000),
  frames: () => measureFrames(isShort ? 5_000 : 250_000),
  stalls: () => measureStalls(isShort ? 20 : 200),
  disk: () => measureDisk(),
  port: () => measurePort(isShort ? 200 : 2_100),
  reads: () => (isShort ? measureReads(20_000, 100, 500) : measureReads(1_000_000, 1_000, 5_000)),
}

/** Only where one is named. */
const byHand: typeof parts = {
  machines: () => measureManyMachines([10, 25, 50], isShort ? 5_000 : 15_000),
}

const measures: Measure[] = []
for (const [name, measure] of Object.entries(only === undefined ? parts : { ...parts, ...byHand })) {
  if (only !== undefined && !name.includes(only)) continue
  const from = performance.now()
  try {
    measures.push(...(await measure()))
  } catch (error) {
    // The table of the others is worth having.
    process.stderr.write(`bench: ${name} failed: ${error instanceof Error ? error.stack : error}\n`)
    process.exitCode = 1
  }
  process.stderr.write(`bench: ${name} took ${((performance.now() - from) / 1000).toFixed(1)} s\n`)
}
process.stdout.write(`${print(measures)}\n`)
if (measures.some(isFailure)) process.exitCode = 1
