// Whether acknowledgements tell the truth about the disk: each leaves after its entry was synced, and none after a sync that failed.

import { join } from 'node:path'
import { bodyOf, History, readStored } from '../harness/history.ts'
import { type DaemonProcess, inScene, type Scene, sleep } from '../harness/processes.ts'
import { Raw } from '../harness/raw.ts'
import { acksIn, isOnLog, isSync, isToSocket, readTrace, type SystemCall, straceArgs } from '../harness/strace.ts'

export interface SyncReport {
  acks: number
  syncs: number
  faults: string[]
}

const senders = 8

/** So many acknowledgements under strace: entry written to the log, log synced, acknowledgement sent, in this order for each. */
export function traceAcks(count: number): Promise<SyncReport> {
  return inScene(async (scene) => {
    const trace = join(scene.dataDir, 'trace')
    const daemon = await scene.startDaemon({ through: straceArgs(trace) })
    const history = new History()
    const sent = await load(scene, history, () => history.sends.length < count)
    await daemon.end('SIGTERM')
    const calls = readTrace(trace)
    const acked = new Map<string, SystemCall>()
    for (const call of calls.filter(isToSocket)) for (const id of acksIn(call)) acked.set(id, call)
    const faults: string[] = []
    for (const id of sent) {
      const fault = faultOf(id, calls, acked.get(id))
      if (fault) faults.push(`${id}: ${fault}`)
    }
    const syncs = calls.filter((call) => isSync(call) && isOnLog(call)).length
    return { acks: sent.length, syncs, faults: faults.slice(0, 10) }
  })
}

function faultOf(id: string, calls: SystemCall[], ack: SystemCall | undefined): string | undefined {
  if (!ack) return 'its acknowledgement is not in the trace'
  const written = calls.find((call) => isOnLog(call) && call.name.startsWith('pwrite') && call.text.includes(id))
  if (!written) return 'its entry was not written to the log'
  const isBetween = (call: SystemCall) => call.began > written.ended && call.ended < ack.began
  const synced = calls.some((call) => isSync(call) && isOnLog(call) && call.result.startsWith('0') && isBetween(call))
  return synced
    ? undefined
    : `no sync between its entry (line ${written.ended}) and its acknowledgement (line ${ack.began})`
}

export interface FailedSyncReport {
  /** Which sync failed, counted from the daemon's start, and of what. */
  failing: number
  of: string
  acked: number
  /** How it ended: with its reason, and never with 0. */
  exitCode: number | null
  reason: string
  faults: string[]
}

/**
 * The n-th sync fails with EIO. If it was one of the log: nothing is acknowledged after it, and the daemon ends. SQLite also syncs the
 * folder of a new log, and goes on if that fails: the log's own syncs do not depend on it.
 */
export function failSync(failing: number): Promise<FailedSyncReport> {
  return inScene(async (scene) => {
    await (await scene.startDaemon()).end('SIGTERM')
    const trace = join(scene.dataDir, 'trace')
    // Which of the two a driver calls depends on how it was compiled.
    const inject = ['-e', `inject=fsync,fdatasync:error=EIO:when=${failing}`]
    const daemon = scene.spawnDaemon({ through: straceArgs(trace, ...inject) })
    const history = new History()
    if (await isReady(daemon)) {
      const deadline = performance.now() + 2_000
      const isAlive = () => daemon.child.exitCode === null && performance.now() < deadline
      await load(scene, history, isAlive)
    }
    const exit = await Promise.race([daemon.exited, sleep(4_000).then(() => undefined)])
    if (!exit) await daemon.end('SIGKILL')
    const calls = readTrace(trace)
    const failed = calls.find((call) => isSync(call) && call.result.includes('INJECTED'))
    const faults = failed && isOnLog(failed) ? acknowledgedAfter(failed, calls) : []
    if (!failed) faults.push('no sync failed')
    else if (isOnLog(failed) && !exit) faults.push('the daemon goes on')
    await (await scene.startDaemon()).end('SIGTERM')
    const { messages, integrity } = readStored(scene.databasePath)
    if (integrity !== 'ok') faults.push(integrity)
    faults.push(...history.faultsOfStored(messages))
    const of = failed && isOnLog(failed) ? 'log' : 'folder'
    const reason = daemon.errors.split('\n')[0] ?? ''
    return { failing, of, acked: history.acked, exitCode: exit?.code ?? null, reason, faults: faults.slice(0, 10) }
  })
}

function acknowledgedAfter(failed: SystemCall, calls: SystemCall[]): string[] {
  const late = calls.filter((call) => call.ended > failed.ended && isToSocket(call) && acksIn(call).length > 0)
  return late.map((call) => `acknowledged after the failed sync: ${acksIn(call).join(', ')}`)
}

async function isReady(daemon: DaemonProcess): Promise<boolean> {
  return await daemon.ready.then(
    () => true,
    () => false,
  )
}

/** Answers the ids of the commands that were acknowledged. */
async function load(scene: Scene, history: History, goesOn: () => boolean): Promise<string[]> {
  const acked: string[] = []
  const lane = async (name: string) => {
    const raw = await Raw.as(scene.socketPath, name)
    while (goesOn() && !raw.isClosed) {
      const send = history.invoke(name, 'to')
      const { type, id, payload } = await raw.call('message.send', { to: 'to', body: bodyOf(name, 'to', send.n) })
      if (type === 'ACK') {
        send.outcome = 'acked'
        acked.push(id)
        // A fault says that the outcome is not known: the entry may be in the log, and be found there.
      } else if (type === 'ERROR' && payload.code !== 'fault') send.outcome = 'refused'
    }
    await raw.end()
  }
  const receiver = await Raw.as(scene.socketPath, 'to').catch(() => undefined)
  // A daemon that ends while they come in welcomes nobody.
  if (receiver) await Promise.allSettled(Array.from({ length: senders }, (_, i) => lane(`from-${i}`)))
  await receiver?.end()
  return acked
}
