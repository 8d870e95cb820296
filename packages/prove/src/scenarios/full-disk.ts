// Fills the disk of a daemon: a small tmpfs in a mount namespace of its own, so that nothing stays mounted, whatever happens.

import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { MessageHistory, messageBody, parseBody, readStored } from '../harness/history.ts'
import { inTrial, sleep, type Trial, type TrialOptions } from '../harness/processes.ts'
import { RawConnection } from '../harness/raw.ts'

const mountAndRun = 'mount -t tmpfs -o size="$1" tmpfs "$2" && shift 2 && exec "$@"'

/** Returns the command that mounts a file system for one process on this machine, or the reason why that is impossible. */
export function howToMount(): { unshare: string[] } | { reason: string } {
  let reason = ''
  for (const unshare of [
    ['unshare', '-m'],
    ['unshare', '-Urm'],
  ]) {
    const [command, ...args] = [...unshare, 'sh', '-c', mountAndRun, 'sh', '1m', '/mnt', 'true']
    const tried = spawnSync(command as string, args, { encoding: 'utf8' })
    if (tried.status === 0) return { unshare }
    if (tried.error) return { reason: `unshare is not installed (${tried.error.message})` }
    reason = tried.stderr.trim()
  }
  return { reason: `no tmpfs can be mounted here: ${reason}` }
}

/** Returns the command that runs a program with a small disk of its own mounted at `path`. */
export function smallDiskCommand(unshare: string[], sizeMb: number, path: string): string[] {
  return [...unshare, 'sh', '-c', mountAndRun, 'sh', `${sizeMb}m`, path]
}

/**
 * `refusal` and `refusalMs`: the refusal that the sender got when the disk was full, and how long the refusal took. `failedReads`: read operations that failed
 * while the disk was full. `resumedMs`: the time from freeing disk space to the next acknowledged message; undefined if none was acknowledged.
 */
export function fillDisk(unshare: string[], sizeMb: number, options: TrialOptions) {
  return inTrial(options, async (trial) => {
    mkdirSync(trial.dataDir, { recursive: true })
    const through = smallDiskCommand(unshare, sizeMb, trial.dataDir)
    const daemon = await trial.startDaemon({ wrapper: through, hasOwnFileSystem: true })
    const inside = (path: string) => `/proc/${daemon.pid}/root${path}`
    const ballast = inside(join(trial.dataDir, 'ballast'))
    writeFileSync(ballast, Buffer.alloc((sizeMb * 1e6) / 2))
    const history = new MessageHistory()
    const sender = await RawConnection.connectAs(inside(trial.socketPath), 'from')
    const receiver = await RawConnection.connectAs(inside(trial.socketPath), 'to')
    const full = await sendUntilFull(trial, sender, history)
    const failedReads = await read(sender, receiver)
    const refusedWhileFull = await countRefused(sender, history, 20)
    // The daemon fills its search index when it is idle; this wait lets the index meet the full disk too.
    await sleep(700)
    failedReads.push(...(await read(sender, receiver)))
    const ackedBefore = history.acked
    rmSync(ballast)
    const resumedMs = await sendUntilStored(sender, history)
    for (let i = 0; i < 20; i++) await send(sender, history)
    const seen = await takeAll(receiver)
    const faults = findLost(history, seen)
    const { messages, integrity } = copyAndRead(trial, inside(trial.databasePath))
    faults.push(...history.faultsOfStored(messages))
    const ackedAfter = history.acked - ackedBefore
    const daemonErrors = daemon.errors
    const { code } = await daemon.end('SIGTERM')
    if (code !== 0) faults.push(`the daemon ended with ${code}`)
    const figures = { ackedBefore, ...full, failedReads, refusedWhileFull, resumedMs, ackedAfter }
    return { ...figures, integrity, faults: faults.slice(0, 10), daemonErrors }
  })
}

async function send(
  sender: RawConnection,
  history: MessageHistory,
): Promise<{ code?: string; message: string; ms: number }> {
  const one = history.recordSend('from', 'to')
  const from = performance.now()
  const { type, payload } = await sender.call('message.send', {
    to: 'to',
    body: messageBody('from', 'to', one.n, 'x'.repeat(3_000)),
  })
  one.outcome = type === 'ACK' ? 'acked' : type === 'ERROR' ? 'refused' : 'unknown'
  return { code: payload?.code, message: `${payload?.code}: ${payload?.message}`, ms: performance.now() - from }
}

async function sendUntilFull(
  trial: Trial,
  sender: RawConnection,
  history: MessageHistory,
): Promise<{ refusal: string; refusalMs: number }> {
  for (let i = 0; i < 100_000; i++) {
    const { code, message, ms } = await send(sender, history)
    if (code !== undefined) return { refusal: message, refusalMs: ms }
    trial.reportProgress(`${history.acked} messages stored, and the disk is not full yet`)
  }
  throw new Error('the disk never filled')
}

/** Calls several read operations, which must work while nothing can be written, and returns those that fail. */
async function read(sender: RawConnection, receiver: RawConnection): Promise<string[]> {
  const answers = await Promise.all([
    receiver.call('inbox.peek', { limit: 5 }),
    receiver.call('inbox.count', {}),
    sender.call('event.list', { since: 0, limit: 5 }),
    sender.call('agent.list', {}),
    sender.call('workspace.status', {}),
    sender.call('channel.list', {}),
  ])
  // A search first fills its index, which may not fit on the full disk: a refusal that says so is not a failure.
  const searched = await sender.call('message.search', { text: 'from' })
  if (searched.type === 'ERROR' && !/full/.test(searched.payload.message)) answers.push(searched)
  return answers.filter(({ type }) => type !== 'ACK').map(({ type, payload }) => `${type} ${payload?.message}`)
}

async function countRefused(sender: RawConnection, history: MessageHistory, count: number): Promise<number> {
  let refused = 0
  for (let i = 0; i < count; i++) if ((await send(sender, history)).code === 'store.full') refused++
  return refused
}

async function sendUntilStored(sender: RawConnection, history: MessageHistory): Promise<number | undefined> {
  const from = performance.now()
  while (performance.now() - from < waitLimitMs('prove')) {
    if ((await send(sender, history)).code === undefined) return Math.round(performance.now() - from)
    await sleep(20)
  }
  return undefined
}

async function takeAll(receiver: RawConnection): Promise<number[]> {
  const seen: number[] = []
  for (;;) {
    const { type, payload } = await receiver.call('inbox.take', { limit: 200 })
    if (type !== 'ACK' || payload.messages.length === 0) return seen
    for (const { body } of payload.messages) seen.push(parseBody(body.slice(0, 100)).n)
  }
}

function findLost(history: MessageHistory, seen: number[]): string[] {
  const acked = history.sends.filter(({ outcome }) => outcome === 'acked').map(({ n }) => n)
  const there = new Set(seen)
  const missing = acked.filter((n) => !there.has(n)).map((n) => `acknowledged, but not found in the inbox: ${n}`)
  return seen.length === there.size ? missing : [...missing, 'found twice in the inbox']
}

/** Reads a copy of the database while the daemon still runs, because the daemon's tmpfs disappears when the daemon ends. */
function copyAndRead(trial: Trial, databasePath: string): ReturnType<typeof readStored> {
  const copy = join(trial.dataDir, 'copy.db')
  for (const tail of ['', '-wal']) if (existsSync(databasePath + tail)) copyFileSync(databasePath + tail, copy + tail)
  return readStored(trial, copy)
}
