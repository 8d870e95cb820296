// The parts of the benchmark by name. Each runs in a process of its own (part.ts), so that none ends the others; main.ts prints what they find.

import { measureAbsent } from './absent.ts'
import { measureAcp } from './acp.ts'
import { measureActions } from './actions.ts'
import { measureApprovals } from './approvals.ts'
import { measureChannels } from './channels.ts'
import { measureClaims } from './claims.ts'
import { measureCluster } from './cluster.ts'
import { measureConversation } from './conversation.ts'
import { measureDelivery } from './delivery.ts'
import { measureEndFile } from './end-file.ts'
import {
  measureBackup,
  measureDisk,
  measureFlood,
  measureFrames,
  measureLongPrune,
  measurePort,
  measurePrune,
  measureReads,
  measureStalls,
  measureStops,
} from './hardship.ts'
import { measureIdle } from './idle.ts'
import { measureManyMachines } from './machines.ts'
import { measureOthers } from './others.ts'
import { measurePage } from './page.ts'
import { measurePageCrowd } from './page-crowd.ts'
import { measurePerson } from './person.ts'
import { measurePipe } from './pipe.ts'
import { measureRuns } from './runs.ts'
import { measureSends } from './sends.ts'
import { measureStart } from './start.ts'
import type { Measure } from './table.ts'
import { measureTexts } from './texts.ts'
import { measureUnread } from './unread.ts'
import { measureWeights } from './weights.ts'
import { measureWorkers } from './worker.ts'

interface Part {
  /** The line of `--list`. */
  text: string
  /** Run only where it is named, because it takes minutes. */
  isByHand?: boolean
  run(isShort: boolean): Promise<Measure[]>
}

export const parts: Record<string, Part> = {
  sends: {
    text: 'durable sends, many and one at a time, beside a bare echo and a bare commit',
    run: (isShort) => measureSends(isShort ? { rounds: 2, ms: 700 } : { rounds: 7, ms: 1_500 }),
  },
  others: {
    text: 'the same durable append with a notice in PostgreSQL, NATS JetStream and Redis, where they are installed',
    run: (isShort) => measureOthers(isShort ? { rounds: 2, ms: 700 } : { rounds: 7, ms: 1_500 }),
  },
  'end-file': {
    text: 'the end file beside each commit',
    run: (isShort) => measureEndFile(isShort ? { rounds: 3, commits: 100 } : { rounds: 9, commits: 300 }),
  },
  person: {
    text: 'sends while a person has the terminal, the page or a tail open',
    run: (isShort) => measurePerson(isShort ? { rounds: 3, ms: 700 } : { rounds: 7, ms: 1_000 }),
  },
  delivery: {
    text: "the time from one program's send to another's event",
    run: (isShort) => measureDelivery(isShort ? { rounds: 2, ms: 1_000 } : { rounds: 5, ms: 3_000 }),
  },
  cluster: {
    text: 'a workspace that three machines share over PostgreSQL',
    run: (isShort) => measureCluster(isShort ? { rounds: 2, ms: 700 } : { rounds: 7, ms: 1_500 }),
  },
  channels: {
    text: 'channels with many members',
    run: (isShort) => measureChannels(isShort ? { rounds: 3, ms: 500 } : { rounds: 9, ms: 1_000 }),
  },
  unread: {
    text: 'an inbox among a million messages, and newcomers who see none of them',
    run: (isShort) => (isShort ? measureUnread(100_000, 1) : measureUnread(1_000_000, 5)),
  },
  conversation: {
    text: 'a page of a conversation of a million messages beside one of a thousand',
    run: (isShort) => measureConversation(isShort ? 50_000 : 1_000_000, isShort ? 3 : 7),
  },
  actions: {
    text: 'calls of actions',
    run: (isShort) => measureActions(isShort ? { rounds: 2, calls: 100 } : { rounds: 5, calls: 300 }),
  },
  runs: {
    text: 'runs of the built-in agent loop',
    run: (isShort) =>
      measureRuns(isShort ? { rounds: 2, calls: 100, ms: 1_000 } : { rounds: 5, calls: 200, ms: 2_000 }),
  },
  idle: {
    text: 'memory and processor time of a daemon with nothing to do',
    run: (isShort) => (isShort ? measureIdle(1, 50) : measureIdle(3, 500)),
  },
  start: {
    text: 'the start of commands, hooks and a daemon beside a bare Node',
    run: (isShort) => measureStart(isShort ? 15 : 60),
  },
  acp: {
    text: 'workers over ACP',
    run: (isShort) => measureAcp(isShort ? { rounds: 5, ms: 5_000 } : { rounds: 25, ms: 20_000 }),
  },
  approvals: { text: 'approvals and their answers', run: (isShort) => measureApprovals(isShort ? 20 : 100) },
  worker: {
    text: "a send to the text in a worker's terminal, and a spawn to its program's start",
    run: (isShort) => measureWorkers({ rounds: isShort ? 5 : 15 }),
  },
  claims: {
    text: 'claims on files',
    run: (isShort) => measureClaims(isShort ? { rounds: 10, checks: 50 } : { rounds: 40, checks: 200 }),
  },
  pipe: {
    text: 'MCP over the pipe',
    run: (isShort) => measurePipe(isShort ? { rounds: 3, calls: 200 } : { rounds: 7, calls: 500 }),
  },
  absent: { text: 'hooks where no daemon runs', run: (isShort) => measureAbsent(isShort ? 10 : 40) },
  page: {
    text: 'the page in Chromium',
    run: (isShort) => measurePage(isShort ? { rounds: 1, seconds: 2 } : { rounds: 3, seconds: 4 }),
  },
  'page-crowd': {
    text: 'the page with 100 agents, 100,000 messages and 50 more a second, over ten minutes',
    isByHand: true,
    run: (isShort) =>
      measurePageCrowd(
        isShort ? { messages: 10_000, rounds: 2, seconds: 15 } : { messages: 100_000, rounds: 10, seconds: 30 },
      ),
  },
  texts: { text: 'cleaning texts for models and terminals', run: (isShort) => measureTexts(isShort ? 5 : 25) },
  weights: { text: 'memory that careless clients could take', run: () => measureWeights() },
  stops: {
    text: 'the end of a daemon under work, and a thousand connections at once',
    run: (isShort) => measureStops(isShort ? 1 : 5),
  },
  backup: {
    text: 'a question during a backup',
    run: (isShort) => (isShort ? measureBackup(20_000, 1) : measureBackup(500_000, 3)),
  },
  prune: {
    text: 'a question during a pruning, beside 200 sends a second',
    run: (isShort) => measurePrune(isShort ? [600, 10_000] : [3_000, 100_000], isShort ? 1 : 3),
  },
  'prune-million': {
    text: 'a question during a pruning of nine tenths of a million messages, and the size after it',
    isByHand: true,
    run: (isShort) => measureLongPrune(isShort ? 20_000 : 1_000_000),
  },
  flood: { text: 'a worker that prints without end', run: (isShort) => measureFlood(isShort ? 20 : 1_000) },
  frames: { text: 'hostile frames', run: (isShort) => measureFrames(isShort ? 5_000 : 250_000) },
  stalls: { text: 'readers that do not read', run: (isShort) => measureStalls(isShort ? 20 : 200) },
  disk: { text: 'a full disk', run: () => measureDisk() },
  port: { text: 'slow connections to the HTTP port', run: (isShort) => measurePort(isShort ? 200 : 2_100) },
  reads: {
    text: 'long reads of newcomers beside other sessions',
    run: (isShort) => (isShort ? measureReads(20_000, 100, 500) : measureReads(1_000_000, 1_000, 5_000)),
  },
  machines: {
    text: 'ten to fifty machines that share a workspace',
    isByHand: true,
    run: (isShort) => measureManyMachines([10, 25, 50], isShort ? 5_000 : 15_000),
  },
}
