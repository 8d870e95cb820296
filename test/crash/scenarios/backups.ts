// Backups, restorings and imports that are killed, and a backup of a workspace that is written to: each is whole before or whole after.

import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { environmentWithoutRelay, inTrial, sleep, type Trial, trialProject } from '@agent-relay/prove/harness/processes'
import { callOnce, RawConnection } from '@agent-relay/prove/harness/raw'
import { installedRelay } from '../../../packages/relay/src/cli/own-relay.ts'
import { type Backup, readBackup } from '../../../packages/relay/src/daemon/backup.ts'
import { readFromBackup } from '../../../packages/relay/src/daemon/backup-file.ts'
import { CredentialsFile } from '../../../packages/relay/src/machine/credentials-file.ts'
import { DataDirectory } from '../../../packages/relay/src/machine/data-directory.ts'
import { readDatabaseContents } from '../../../packages/relay/src/store/contents.ts'
import { checkIntegrity } from '../../../packages/relay/src/store/integrity.ts'
import { until } from '../../until.ts'
import { longestWait } from '../harness/longest-wait.ts'
import { fill } from '../harness/million.ts'

/** From one send or question to the next. */
const betweenMs = 5

export const cuts = ['backup', 'restore', 'import', 'export'] as const
export type Cut = (typeof cuts)[number]

export interface CutReport {
  kills: number
  /** Killed before it had answered. */
  cutOff: number
  /** What was there after a kill, whole. */
  whole: number
  faults: string[]
}

/** A command line of our own: killed after some time, if it has not ended by then. */
async function command(dataDir: string, args: string[], killMs?: number): Promise<{ code: number | null; ms: number }> {
  const from = performance.now()
  const env = { ...environmentWithoutRelay(), RELAY_DATA_DIR: dataDir, HOME: dataDir }
  const child = spawn(process.execPath, [installedRelay.launcher, ...args], { env, cwd: dataDir, stdio: 'ignore' })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const timer = killMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), killMs)
  const code = await ended
  clearTimeout(timer)
  return { code, ms: performance.now() - from }
}

/** Each kill comes at a moment of its own, most of them while it works and not while Node starts. */
export function killWhileWorking(kills: number, messages: number): Promise<Record<Cut, CutReport>> {
  return inTrial({ relay: installedRelay }, async (scene) => {
    const at = await prepared(scene, messages)
    // At once: each works in places of its own.
    const reports = await Promise.all(cuts.map(async (cut) => [cut, await killWhile(cut, kills, scene, at)] as const))
    return Object.fromEntries(reports) as Record<Cut, CutReport>
  })
}

async function killWhile(cut: Cut, kills: number, scene: Trial, at: PreparedScene): Promise<CutReport> {
  const argsOf: Record<Cut, (place: string) => string[]> = {
    backup: (place) => ['workspace', 'backup', join(place, 'new.tar'), trialProject],
    export: (place) => ['workspace', 'export', '--project', trialProject, '--to', join(place, 'new.jsonl')],
    restore: () => ['workspace', 'restore', at.backup, trialProject],
    import: () => ['workspace', 'import', at.text, trialProject],
  }
  const isFile = cut === 'backup' || cut === 'export'
  const places = () => mkdtempSync(join(scene.dataDir, 'place-'))
  const run = (place: string, killMs?: number) => command(isFile ? scene.dataDir : place, argsOf[cut](place), killMs)
  const look = (place: string) => (isFile ? ofFile(place, at) : ofPlace(place, at))
  const faults: string[] = []
  let [cutOff, whole, place] = [0, 0, places()]
  const { code, ms: wholeMs } = await run(place)
  if (code !== 0) faults.push(`${cut} ended with ${code}`)
  for (let i = 0; i < kills; i++) {
    place = places()
    const ended = await run(place, wholeMs * (0.3 + (0.7 * (i + 0.5)) / kills))
    if (ended.code === null) cutOff++
    const found = look(place)
    if (found.isThere) whole++
    faults.push(...found.faults)
    if (found.isThere || i % 5 > 0) continue
    // And what was cut off works the next time.
    const again = await run(place)
    if (again.code !== 0 || !look(place).isThere) faults.push(`${cut} again ended with ${again.code}`)
    faults.push(...look(place).faults)
  }
  return { kills, cutOff, whole, faults: faults.slice(0, 10) }
}

interface PreparedScene {
  backup: string
  text: string
  textBytes: number
  messages: number
}

/** A daemon with a workspace of so many messages, a backup of it and an export. */
async function prepared(scene: Trial, messages: number): Promise<PreparedScene> {
  await (await scene.startDaemon()).end('SIGTERM')
  fill(scene.databasePath, messages, 20)
  await scene.startDaemon()
  const [backup, text] = [join(scene.dataDir, 'all.tar'), join(scene.dataDir, 'all.jsonl')]
  await command(scene.dataDir, ['workspace', 'backup', backup, trialProject])
  await command(scene.dataDir, ['workspace', 'export', '--project', trialProject, '--to', text])
  return { backup, text, textBytes: statSync(text).size, messages: readDatabaseContents(scene.databasePath).messages }
}

interface Found {
  isThere: boolean
  faults: string[]
}

function ofFile(place: string, { messages, textBytes }: PreparedScene): Found {
  const [backup, text] = [join(place, 'new.tar'), join(place, 'new.jsonl')]
  if (existsSync(text))
    return { isThere: true, faults: statSync(text).size === textBytes ? [] : [`${text} is not whole`] }
  return existsSync(backup)
    ? { isThere: true, faults: faultsOfBackup(backup, messages) }
    : { isThere: false, faults: [] }
}

function faultsOfBackup(path: string, messages: number): string[] {
  try {
    const held: Backup = readBackup(path)
    for (const workspace of held.workspaces) readFromBackup(held, workspace, workspace.name)
    return held.workspaces[0]?.messages === messages ? [] : [`it holds ${held.workspaces[0]?.messages} messages`]
  } catch (error) {
    return [(error as Error).message]
  }
}

/** A workspace that counts has its key, and all its messages. */
function ofPlace(dataDir: string, { messages }: PreparedScene): Found {
  const directory = new DataDirectory(dataDir)
  if (!directory.hasWorkspace(trialProject)) return { isThere: false, faults: [] }
  const database = directory.databasePath(trialProject)
  const contents = readDatabaseContents(database)
  const faults: string[] = []
  if (checkIntegrity(database) !== 'ok') faults.push(checkIntegrity(database))
  if (contents.messages !== messages) faults.push(`it has ${contents.messages} messages`)
  const key = new CredentialsFile(join(dataDir, 'credentials.json')).keyOf(contents.id as string)
  if (key === undefined) faults.push('it has no key')
  return { isThere: true, faults }
}

export interface BusyReport {
  messages: number
  bytes: number
  backupMs: number
  sent: number
  /** How late the daemon's event loop ran at worst, as it tells itself. */
  lagMsMax: number
  /** Questions that were asked and answered, one after the other, while the daemon copied the workspace once more. */
  answeredMeanwhile: number
  /** The longest that a send waited for its answer. */
  sendMsMax: number
  rounds: BusyRound[]
  faults: string[]
}

/** The longest that a question which needs no disk waited for its answer, while the same sends went on. */
interface BusyRound {
  duringMs: number
  /** For as long, without a backup: what the machine and the sends alone cost. */
  withoutMs: number
}

/** A backup while somebody sends 200 messages a second: it holds all that was acknowledged before it began, and nobody waits for it. */
export function backUpUnderLoad(messages: number, rounds: number): Promise<BusyReport> {
  return inTrial({ relay: installedRelay }, async (scene) => {
    await (await scene.startDaemon()).end('SIGTERM')
    fill(scene.databasePath, messages, 20)
    await scene.startDaemon()
    const raw = await RawConnection.connectAs(scene.socketPath, 'sender')
    const control = await RawConnection.connectAs(scene.controlPath)
    const sender = new Sender(raw)
    // What is asked for the first time takes longer.
    await waiting(control, sender.reached(100))
    const report: BusyReport = {
      messages,
      bytes: 0,
      backupMs: 0,
      sent: 0,
      lagMsMax: 0,
      answeredMeanwhile: 0,
      sendMsMax: 0,
      rounds: [],
      faults: [],
    }
    for (let round = 0; round < rounds; round++) {
      const before = readDatabaseContents(scene.databasePath).messages
      const path = join(scene.dataDir, `busy-${round}.tar`)
      const during = await waiting(control, command(scene.dataDir, ['workspace', 'backup', path, trialProject]))
      // It begins as the backup did, with a command that starts: that, too, takes the processor from the daemon.
      const idle = Promise.all([command(scene.dataDir, ['--version']), sleep(during.done.ms)])
      const without = await waiting(control, idle)
      report.rounds.push({ duringMs: during.waitedMs, withoutMs: without.waitedMs })
      report.backupMs = Math.max(report.backupMs, during.done.ms)
      if (during.done.code !== 0) report.faults.push(`exit code ${during.done.code}`)
      else Object.assign(report, held(path, before, report.faults))
    }
    report.answeredMeanwhile = await copyMeanwhile(scene, control)
    await sender.end()
    const { payload } = await control.call('daemon.status', {})
    report.lagMsMax = (payload as { lagMs: { max: number } }).lagMs.max
    await Promise.all([raw.end(), control.end()])
    return { ...report, sent: sender.sent, sendMsMax: sender.waitedMs }
  })
}

async function copyMeanwhile({ controlPath, dataDir }: Trial, control: RawConnection): Promise<number> {
  const input = { workspace: trialProject, to: join(dataDir, 'copy.db') }
  const { done, answers } = await waiting(control, callOnce(controlPath, 'workspace.copy', input))
  if (done.type !== 'ACK') throw new Error(JSON.stringify(done.payload))
  return answers
}

function held(path: string, least: number, faults: string[]): Pick<BusyReport, 'messages' | 'bytes'> {
  const [found] = readBackup(path).workspaces
  const [messages, bytes] = [Number(found?.messages), Number(found?.bytes)]
  faults.push(...(messages >= least ? faultsOfBackup(path, messages) : [`it holds ${messages} of at least ${least}`]))
  return { messages, bytes }
}

/** Asks what needs no disk. */
function waiting<T>(control: RawConnection, work: Promise<T>): ReturnType<typeof longestWait<T>> {
  return longestWait(() => control.call('daemon.status', {}), betweenMs, work)
}

class Sender {
  sent = 0
  waitedMs = 0
  #isOver = false
  readonly #sending: Promise<void>

  constructor(raw: RawConnection) {
    this.#sending = this.#send(raw)
  }

  async reached(sent: number): Promise<void> {
    await until(() => this.sent >= sent)
  }

  end(): Promise<void> {
    this.#isOver = true
    return this.#sending
  }

  async #send(raw: RawConnection): Promise<void> {
    for (let from = performance.now(); !this.#isOver; ) {
      const start = performance.now()
      const { type } = await raw.call('message.send', { to: '#general', body: `number ${this.sent}` })
      if (type === 'ACK') this.sent++
      this.waitedMs = Math.max(this.waitedMs, performance.now() - start)
      from += betweenMs
      if (from > performance.now()) await sleep(from - performance.now())
    }
  }
}
