// A daemon is killed while it stores messages, and its files are harmed before the next start: acknowledged messages are there, or the start says
// that they are not and opens nothing. And a process that only stores, killed without harm: nothing is reported.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inTrial, sleep, type Trial } from '@agent-relay/prove/harness/processes'
import type { Random } from '@agent-relay/prove/harness/random'
import { callOnce, RawConnection } from '@agent-relay/prove/harness/raw'
import { installedRelay } from '../../../packages/relay/src/cli/own-relay.ts'
import { readDatabaseFile } from '../../../packages/relay/src/store/database.ts'
import { checkJournalEnd } from '../../../packages/relay/src/store/journal-end.ts'

const ends = ['', '-wal', '.end']
const sendMsMax = 150
const inFlight = 8

/** Harms the files of one workspace. `older`: copies of database and log from before its last messages; `other`: those of another workspace. */
type Harm = (path: string, random: Random, copies: { older: string; other: string }) => void

const harms: Record<string, Harm> = {
  'log cut': (path, random) => truncateSync(`${path}-wal`, random.below(statSync(`${path}-wal`).size)),
  'log shortened': (path, random) =>
    truncateSync(`${path}-wal`, Math.max(0, statSync(`${path}-wal`).size - 4_120 * (1 + random.below(20)))),
  'log removed': (path) => removeLog(path),
  'log with a hole': (path, random) => {
    const log = readFileSync(`${path}-wal`)
    const at = random.below(log.length)
    writeFileSync(`${path}-wal`, log.fill(0, at, Math.min(log.length, at + 4_096)))
  },
  'older log': (path, _, { older }) => copyFileSync(`${older}-wal`, `${path}-wal`),
  "another workspace's log": (path, _, { other }) => copyFileSync(`${other}-wal`, `${path}-wal`),
  'older database': (path, _, { older }) => copyAll(older, path, ['', '-wal']),
  "another workspace's database": (path, _, { other }) => copyAll(other, path, ['', '-wal']),
}

function removeLog(path: string): void {
  for (const end of ['-wal', '-shm']) rmSync(path + end, { force: true })
}

function copyAll(from: string, to: string, which = ends): void {
  for (const end of which) {
    rmSync(to + end, { force: true })
    if (existsSync(from + end)) copyFileSync(from + end, to + end)
  }
}

export interface HarmReport {
  acked: number
  /** Starts that said what is gone. */
  told: number
  /** Starts that found everything, whatever was harmed. */
  whole: number
  faults: string[]
}

export function harmAfterKills(random: Random, rounds: number): Promise<HarmReport> {
  return inTrial({ relay: installedRelay }, async (scene) => {
    const folder = join(scene.dataDir, 'copies')
    const report: HarmReport = { acked: 0, told: 0, whole: 0, faults: [] }
    const acked: string[] = []
    const kinds = Object.entries(harms)
    const from = random.below(kinds.length)
    const first = await scene.startDaemon()
    await sent(await agentOf(scene), 20, acked)
    const other = await copyOfAnother(scene, mkdtempSync(`${folder}-`))
    await first.end('SIGKILL')
    for (let i = 0; i < rounds; i++) {
      const [name, harm] = kinds[(from + i) % kinds.length] as [string, Harm]
      const daemon = await scene.startDaemon()
      const path = scene.databasePath
      const [older, whole] = [join(mkdtempSync(`${folder}-`), 'older.db'), join(mkdtempSync(`${folder}-`), 'whole.db')]
      copyAll(path, older)
      const sending = sendWithoutPause(await agentOf(scene), acked)
      await sleep(random.below(sendMsMax))
      await daemon.end('SIGKILL')
      await sending
      copyAll(path, whole)
      harm(path, random, { older, other })
      const fault = await faultOfStart(scene, acked, report)
      if (fault !== undefined) report.faults.push(`${name}: ${fault}`)
      // Put back, there is no alarm: the start has harmed nothing, and said nothing that does not hold.
      rmSync(`${path}-shm`, { force: true })
      copyAll(whole, path)
      if (missingOf(path, acked) > 0) report.faults.push(`${name}: lost without any harm`)
    }
    report.acked = acked.length
    return report
  })
}

/** Undefined where the start was right. */
async function faultOfStart(scene: Trial, acked: string[], report: HarmReport): Promise<string | undefined> {
  const daemon = scene.spawnDaemon()
  const refused = await daemon.ready.then(
    () => undefined,
    (error: Error) => error.message,
  )
  await daemon.end('SIGKILL')
  if (refused === undefined) {
    report.whole++
    const missing = missingOf(scene.databasePath, acked)
    return missing > 0 ? `${missing} acknowledged messages are gone without a word` : undefined
  }
  report.told++
  const isTold = /"workspace\.(?:damaged|lost)"/.test(refused) && / is damaged | was here before, /.test(daemon.errors)
  return isTold ? undefined : `${refused} ${daemon.errors}`
}

function missingOf(path: string, ids: string[]): number {
  const list = ids.map((id) => `'${id}'`).join(',')
  return (
    ids.length -
    Number(readDatabaseFile(path, (first) => first('count(*)', `messages WHERE id IN (${list})`))?.[0] ?? 0)
  )
}

async function agentOf(scene: Trial, socketPath = scene.socketPath): Promise<RawConnection> {
  return RawConnection.connectAs(socketPath, 'ada')
}

/** Until the daemon is gone. */
async function sendWithoutPause(agent: RawConnection, acked: string[]): Promise<void> {
  while (!agent.isClosed) await sent(agent, inFlight, acked)
}

async function sent(agent: RawConnection, count: number, acked: string[]): Promise<void> {
  const body = 'x'.repeat(500)
  const sends = Array.from({ length: count }, () => agent.call('message.send', { to: '#general', body }))
  for (const { type, payload } of await Promise.all(sends)) if (type === 'ACK') acked.push(payload.id)
}

/** A second workspace with messages of its own: where a copy of its files lies. */
async function copyOfAnother(scene: Trial, folder: string): Promise<string> {
  await callOnce(scene.controlPath, 'workspace.open', { workspace: 'other' })
  const path = join(dirname(dirname(scene.databasePath)), 'other', 'relay.db')
  const agent = await agentOf(scene, join(dirname(path), 'daemon.sock'))
  await sent(agent, 20, [])
  await agent.end()
  copyAll(path, join(folder, 'other.db'))
  return join(folder, 'other.db')
}

const writer = fileURLToPath(new URL('../harness/store-writer.mjs', import.meta.url))

/** Each process goes on with the file of the one before, and is killed at any moment, also before it has opened it. */
export async function killWriters(random: Random, kills: number): Promise<{ acked: number; faults: string[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'relay-writer-'))
  const path = join(folder, 'relay.db')
  const faults: string[] = []
  let acked = 0
  try {
    for (let i = 0; i < kills; i++) {
      const child = spawn(process.execPath, [writer, path], { stdio: ['ignore', 'pipe', 'inherit'] })
      const lines: string[] = []
      child.stdout.setEncoding('utf8').on('data', (text: string) => lines.push(text))
      if (random.next() < 0.9) await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])
      await sleep(random.below(40))
      child.kill('SIGKILL')
      await once(child, 'close')
      acked = Number(lines.join('').trimEnd().split('\n').at(-1)) || acked
      if (!existsSync(path)) continue
      const { gap, expected } = checkJournalEnd(path)
      if (gap) faults.push(`kill ${i}: ${JSON.stringify(gap)}`)
      if ((expected?.journal.seq ?? 0) < acked)
        faults.push(`kill ${i}: ${acked} was acknowledged before the end file said so`)
    }
    return { acked, faults }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
