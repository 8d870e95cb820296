// Prunings that are killed, and one of a workspace that is written to: each event is in the database or in the archive, and never in both.

import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { inTrial, sleep, type Trial, trialProject } from '@agent-relay/prove/harness/processes'
import { RawConnection } from '@agent-relay/prove/harness/raw'
import type { Fact } from '@agent-relay/sdk/protocol'
import { makeIds } from '@agent-relay/sdk/wire'
import { installedRelay } from '../../../packages/relay/src/cli/own-relay.ts'
import { freeClosedFiles } from '../../../packages/relay/src/store/database.ts'
import { checkIntegrity } from '../../../packages/relay/src/store/integrity.ts'
import { copyDatabase } from '../../../packages/relay/src/store/snapshot.ts'
import { Store } from '../../../packages/relay/src/store/store.ts'
import { longestWait } from '../harness/longest-wait.ts'

const day = 86_400_000
const olderMs = 90 * day
const perCommit = 2_000
/** From one send to the next, from one question to the next; and questions before any counts: the first ones take longer. */
const [sendsMs, asksMs, warmMs] = [5, 3, 500]

/** Two agents have said `old` messages a hundred days ago, and `recent` ones today. All are read but 10 more old ones to a third agent. */
function fillOld(path: string, old: number, recent = old): void {
  const store = new Store(path)
  const ids = makeIds()
  const names = ['ada', 'bob', 'cy']
  const numbers = new Map<string, number>()
  const write = (at: number, by: string, facts: Fact[], body?: string) =>
    store.append({ at, by, cause: ids('c'), facts, rule: 'test', outcome: { id: ids('o') }, body })
  const said = (at: number, conversation: string): string => {
    const [id, n] = [ids('m'), (numbers.get(conversation) ?? 0) + 1]
    numbers.set(conversation, n)
    const fact: Fact = { type: 'message.created', id, conversation, n, from: 'ada', kind: 'free' }
    write(at, 'ada', [fact], `${n} of ${conversation}: ${'words '.repeat(1 + (n % 40))}`)
    return id
  }
  const open = (conversation: string, members: string[]): Fact => ({
    type: 'conversation.opened',
    conversation,
    members,
  })
  const [then, now] = [Date.now() - 100 * day, Date.now()]
  store.transact(() => {
    for (const name of names)
      write(then, name, [{ type: 'agent.registered', id: ids('a'), agent: { name, type: 'agent' } }])
    write(then, 'ada', [open('@ada,bob', ['ada', 'bob'])])
    write(then, 'ada', [open('@ada,cy', ['ada', 'cy'])])
  })
  for (const [at, messages] of [
    [then, old],
    [now, recent],
  ] as const) {
    for (let done = 0; done < messages; done += perCommit)
      store.transact(() => {
        for (let i = done; i < Math.min(messages, done + perCommit); i++) {
          const message = said(at, '@ada,bob')
          write(at, 'bob', [{ type: 'delivery.offered', message, agent: 'bob', route: 'deliver' }])
          write(at, 'bob', [{ type: 'delivery.read', message, agent: 'bob' }])
        }
      })
    if (at === then) store.transact(() => Array.from({ length: 10 }, () => said(then, '@ada,cy')))
  }
  store.close()
  freeClosedFiles()
}

type Told = Map<string, number>

function tell(told: Told, seq: number, fact: object, body = ''): void {
  const key = `${seq} ${JSON.stringify(fact)} ${body}`
  told.set(key, (told.get(key) ?? 0) + 1)
}

/** Every event that the workspace has, in its database and in its archive. */
function allOf(databasePath: string): { told: Told; unread: number; answers: number; through: number } {
  const store = new Store(databasePath)
  try {
    const told: Told = new Map()
    let answers = 0
    for (let since = 0; ; ) {
      const entries = store.journal.entriesAfter(since, 1_000)
      for (const { seq, facts, body, by, cause } of entries) {
        for (const fact of facts) tell(told, seq, fact, fact.type === 'message.created' ? body : '')
        if (store.recordedAnswer(by, cause)) answers++
      }
      if (entries.length < 1_000) break
      since = entries.at(-1)?.seq as number
    }
    for (const { file, bytes } of store.pruning.pruneRecords()) tellArchive(told, databasePath, file, bytes)
    store.rebuild()
    const unread = [...store.view.inbox.unread('cy', {})].filter((each) => each !== undefined).length
    return { told, unread, answers, through: store.pruning.through }
  } finally {
    store.close()
    freeClosedFiles()
  }
}

function tellArchive(told: Told, databasePath: string, file: string | undefined, bytes: number): void {
  const path = join(dirname(databasePath), 'archive', file as string)
  const text = gunzipSync(readFileSync(path).subarray(0, bytes)).toString()
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const { seq, type, fact, message } = JSON.parse(line)
    tell(told, seq, { type, ...fact }, message?.body)
  }
}

function faultsOf(databasePath: string, before: ReturnType<typeof allOf>): string[] {
  const sound = checkIntegrity(databasePath)
  if (sound !== 'ok') return [sound]
  const { told, unread, answers } = allOf(databasePath)
  // Each start of a daemon tells of more.
  const faults = [...new Set([...before.told.keys(), ...told.keys()])]
    .filter((key) => told.get(key) !== 1)
    .map((key) => `${told.get(key) ?? 0} of ${key}`)
  if (unread !== before.unread) faults.push(`${unread} unread`)
  if (answers < before.answers) faults.push(`${answers} answers of ${before.answers}`)
  return faults.slice(0, 5)
}

export interface KillReport {
  kills: number
  /** Killed before it had answered. */
  cutOff: number
  /** Killed while something was taken out already. */
  inTheMidst: number
  faults: string[]
}

export function killWhilePruning(kills: number, messages: number): Promise<KillReport> {
  return inTrial({ relay: installedRelay }, async (scene) => {
    const kept = await prepared(scene, messages)
    const before = allOf(scene.databasePath)
    const report: KillReport = { kills, cutOff: 0, inTheMidst: 0, faults: [] }
    const wholeMs = await pruneOnce(scene)
    report.faults.push(...faultsOf(scene.databasePath, before))
    for (let i = 0; i < kills && report.faults.length === 0; i++) {
      // Each is cut off some way into what the last one has left; now and then from the beginning again.
      if (i % 4 === 0) startAgain(scene, kept)
      const left = allOf(scene.databasePath).told
      const ms = await pruneOnce(scene, wholeMs * Math.random())
      if (ms === Number.POSITIVE_INFINITY) report.cutOff++
      if (archivedFiles(scene) > 0 && left.size > 0 && ms === Number.POSITIVE_INFINITY) report.inTheMidst++
      report.faults.push(...faultsOf(scene.databasePath, before))
    }
    await pruneOnce(scene)
    report.faults.push(...faultsOf(scene.databasePath, before))
    return report
  })
}

async function prepared(scene: Trial, old: number, recent?: number): Promise<string> {
  await (await scene.startDaemon()).end('SIGTERM')
  fillOld(scene.databasePath, old, recent)
  const kept = join(scene.dataDir, 'kept.db')
  copyDatabase(scene.databasePath, kept)
  return kept
}

/** Puts the kept copy in the place of the workspace's files. Its end file goes too: with it, the copy would be refused as one that lacks entries. */
function startAgain(scene: Trial, kept: string): void {
  const folder = dirname(scene.databasePath)
  for (const name of [
    'relay.db',
    'relay.db.end',
    'relay.db-wal',
    'relay.db-shm',
    'search.db',
    'search.db-wal',
    'search.db-shm',
    'archive',
  ])
    rmSync(join(folder, name), { recursive: true, force: true })
  copyFileSync(kept, scene.databasePath)
}

function archivedFiles(scene: Trial): number {
  const folder = join(dirname(scene.databasePath), 'archive')
  return existsSync(folder) ? readdirSync(folder).filter((name) => statSync(join(folder, name)).size > 0).length : 0
}

/** How long it took; without end, if it was killed before. */
async function pruneOnce(scene: Trial, killMs?: number): Promise<number> {
  const daemon = await scene.startDaemon()
  const control = await RawConnection.connectAs(scene.controlPath)
  const from = performance.now()
  const asked = control.call('workspace.prune', { workspace: trialProject, olderMs }).then(({ type, payload }) => {
    if (type !== 'ACK') throw new Error(JSON.stringify(payload))
    return performance.now() - from
  })
  const never = new Promise<number>(() => {})
  const cut = killMs === undefined ? never : sleep(killMs).then(() => Number.POSITIVE_INFINITY)
  asked.catch(() => {})
  const ms = await Promise.race([asked, cut])
  await daemon.end(killMs === undefined ? 'SIGTERM' : 'SIGKILL')
  return ms
}

export interface BusyPrune {
  events: number
  pruneMs: number
  sent: number
  /** The longest that a question waited, with the pruning and without; and how many were answered while it went on. */
  rounds: { duringMs: number; withoutMs: number; answers: number }[]
  /** The size of the database after the last pruning, and of a fresh copy of it. */
  bytes: number
  freshBytes: number
}

/** A pruning of old messages, beside recent ones, while somebody sends 200 messages a second, and somebody else asks. */
export function pruneUnderLoad(old: number, rounds: number, recent = old): Promise<BusyPrune> {
  return inTrial({ relay: installedRelay }, async (scene) => {
    const kept = await prepared(scene, old, recent)
    const report: BusyPrune = { events: 0, pruneMs: 0, sent: 0, rounds: [], bytes: 0, freshBytes: 0 }
    for (let round = 0; round < rounds; round++) {
      startAgain(scene, kept)
      const daemon = await scene.startDaemon()
      const raw = await RawConnection.connectAs(scene.socketPath, 'sender')
      const [control, other] = [
        await RawConnection.connectAs(scene.controlPath),
        await RawConnection.connectAs(scene.socketPath, 'asker'),
      ]
      let isOver = false
      const sending = (async () => {
        for (; !isOver; report.sent++) {
          await raw.call('message.send', { to: '#general', body: `number ${report.sent}` })
          await sleep(sendsMs)
        }
      })()
      const waiting = <T>(work: Promise<T>) => longestWait(() => other.call('workspace.status', {}), asksMs, work)
      await waiting(sleep(warmMs))
      const from = performance.now()
      const during = await waiting(control.call('workspace.prune', { workspace: trialProject, olderMs }))
      report.pruneMs = performance.now() - from
      report.events = Number((during.done.payload as { events?: number }).events)
      const without = await waiting(sleep(report.pruneMs))
      report.rounds.push({ duringMs: during.waitedMs, withoutMs: without.waitedMs, answers: during.answers })
      isOver = true
      await sending
      await Promise.all([raw.end(), control.end(), other.end()])
      await daemon.end('SIGTERM')
    }
    const fresh = `${kept}.fresh`
    copyDatabase(scene.databasePath, fresh)
    report.bytes = statSync(scene.databasePath).size
    report.freshBytes = statSync(fresh).size
    return report
  })
}
