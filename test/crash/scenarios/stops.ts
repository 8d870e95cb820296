// SIGTERM in the middle of a thousand requests, and a thousand sessions that connect at once.

import { existsSync } from 'node:fs'
import { MessageHistory, messageBody, readStored } from '@agent-relay/prove/harness/history'
import { inTrial } from '@agent-relay/prove/harness/processes'
import { RawConnection } from '@agent-relay/prove/harness/raw'
import { limits } from '@agent-relay/sdk/wire'
import { installedRelay } from '../../../packages/relay/src/cli/own-relay.ts'
import { guardMs } from '../../guard.ts'

export interface StopReport {
  inFlight: number
  acked: number
  /** Answers other than an acknowledgement, by code; LOST is a connection that ended first. */
  others: Record<string, number>
  goodbyes: number
  exitCode: number | null
  seconds: number
  isSocketGone: boolean
  integrity: string
  /** Of those rules of the checker that concern storing. */
  faults: string[]
}

const connections = 10

/** `waiting` of the requests wait for a reply that never comes: they must not hold up the end. */
export function stopWithCallsInFlight(inFlight: number, waiting: number): Promise<StopReport> {
  return inTrial({ relay: installedRelay }, async (scene) => {
    const daemon = await scene.startDaemon()
    const history = new MessageHistory()
    const receiver = await RawConnection.connectAs(scene.socketPath, 'to')
    const senders = await Promise.all(
      Array.from({ length: connections }, (_, i) => RawConnection.connectAs(scene.socketPath, `from-${i}`)),
    )
    const others: Record<string, number> = {}
    const calls = Array.from({ length: inFlight }, async (_, i) => {
      const send = history.recordSend(`from-${i % connections}`, 'to')
      const wait = i >= inFlight - waiting ? { timeoutMs: Math.min(5 * guardMs, limits.waitMsMax) } : undefined
      const input = { to: 'to', body: messageBody(send.from, send.to, send.n), wait }
      const { type, payload } = await (senders[i % connections] as RawConnection).call('message.send', input)
      if (type === 'ACK') send.outcome = 'acked'
      else others[payload?.code ?? type] = (others[payload?.code ?? type] ?? 0) + 1
    })
    // Once the first is answered the daemon is in the middle of the others.
    await Promise.race(calls)
    const from = performance.now()
    const { code } = await daemon.end('SIGTERM')
    const seconds = (performance.now() - from) / 1000
    await Promise.all([...calls, ...senders.map(({ closed }) => closed), receiver.closed])
    const goodbyes = senders.filter(({ frames }) => frames.some(({ type }) => type === 'BYE')).length
    const { messages, integrity } = readStored(scene)
    const faults = history.faultsOfStored(messages)
    const isSocketGone = !existsSync(scene.socketPath)
    return {
      inFlight,
      acked: history.acked,
      others,
      goodbyes,
      exitCode: code,
      seconds,
      isSocketGone,
      integrity,
      faults,
    }
  })
}

export interface SessionsReport {
  sessions: number
  welcomed: number
  connectSeconds: number
  rssMb: number
  exitCode: number | null
  stopSeconds: number
}

export function connectAtOnce(sessions: number): Promise<SessionsReport> {
  return inTrial({ relay: installedRelay }, async (scene) => {
    const daemon = await scene.startDaemon()
    const from = performance.now()
    const raws = await Promise.all(
      Array.from({ length: sessions }, (_, i) => RawConnection.connectAs(scene.socketPath, `session-${i}`)),
    )
    const connectSeconds = (performance.now() - from) / 1000
    const welcomed = raws.filter(({ frames }) => frames[0]?.type === 'WELCOME').length
    const rssMb = daemon.rssMb()
    const stopping = performance.now()
    const { code } = await daemon.end('SIGTERM')
    const stopSeconds = (performance.now() - stopping) / 1000
    await Promise.all(raws.map((raw) => raw.end()))
    return { sessions, welcomed, connectSeconds, rssMb, exitCode: code, stopSeconds }
  })
}
