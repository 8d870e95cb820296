// Checks that an acknowledgement tells the truth about the disk: it must leave the daemon only after the journal entry was synced.

import { join } from 'node:path'
import { MessageHistory, messageBody } from '../harness/history.ts'
import { inTrial, type Trial, type TrialOptions } from '../harness/processes.ts'
import { RawConnection } from '../harness/raw.ts'
import {
  acknowledgedIds,
  isOnDatabaseLog,
  isSync,
  isToSocket,
  readTrace,
  type SystemCall,
  straceArgs,
} from '../harness/strace.ts'

export const senderCount = 8

/** Traces `count` acknowledgements with strace. For each, the order must be: entry written to the log, log synced, acknowledgement sent. */
export function traceSyncBeforeAck(count: number, options: TrialOptions) {
  return inTrial(options, async (trial) => {
    const trace = join(trial.dataDir, 'trace')
    const daemon = await trial.startDaemon({ wrapper: straceArgs(trace) })
    const history = new MessageHistory()
    const sent = await sendUnderLoad(trial, history, () => history.sends.length < count)
    await daemon.end('SIGTERM')
    const calls = readTrace(trace)
    const acked = new Map<string, SystemCall>()
    for (const call of calls.filter(isToSocket)) for (const id of acknowledgedIds(call)) acked.set(id, call)
    const faults: string[] = []
    for (const id of sent) {
      const fault = faultOf(id, calls, acked.get(id))
      if (fault) faults.push(`${id}: ${fault}`)
    }
    const syncs = calls.filter((call) => isSync(call) && isOnDatabaseLog(call)).length
    return { acks: sent.length, syncs, faults: faults.slice(0, 10) }
  })
}

function faultOf(id: string, calls: SystemCall[], ack: SystemCall | undefined): string | undefined {
  if (!ack) return 'its acknowledgement is not in the trace'
  const written = calls.find(
    (call) => isOnDatabaseLog(call) && call.name.startsWith('pwrite') && call.text.includes(id),
  )
  if (!written) return 'its entry was not written to the log'
  const isBetween = (call: SystemCall) => call.began > written.ended && call.ended < ack.began
  const synced = calls.some(
    (call) => isSync(call) && isOnDatabaseLog(call) && call.result.startsWith('0') && isBetween(call),
  )
  return synced
    ? undefined
    : `no sync between its entry (line ${written.ended}) and its acknowledgement (line ${ack.began})`
}

/** Refusal codes that leave the outcome unknown: the entry may be in the log, and may be found there later. */
const unsureCodes = ['fault', 'store.replaced', 'daemon.stopping']

/** Sends messages while `goesOn` returns true; returns the ids of the acknowledged commands. */
export async function sendUnderLoad(trial: Trial, history: MessageHistory, goesOn: () => boolean): Promise<string[]> {
  const acked: string[] = []
  const lane = async (name: string) => {
    const raw = await RawConnection.connectAs(trial.socketPath, name)
    while (goesOn() && !raw.isClosed) {
      const send = history.recordSend(name, 'to')
      const { type, id, payload } = await raw.call('message.send', { to: 'to', body: messageBody(name, 'to', send.n) })
      if (type === 'ACK') {
        send.outcome = 'acked'
        acked.push(id)
        trial.reportProgress(`${acked.length} messages acknowledged`)
      } else if (type === 'ERROR' && !unsureCodes.includes(payload.code)) send.outcome = 'refused'
    }
    await raw.end()
  }
  const receiver = await RawConnection.connectAs(trial.socketPath, 'to').catch(() => undefined)
  // Connections may fail here: a daemon that ends while the senders connect welcomes nobody.
  if (receiver) await Promise.allSettled(Array.from({ length: senderCount }, (_, i) => lane(`from-${i}`)))
  await receiver?.end()
  return acked
}
