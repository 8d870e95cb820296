// A program that uses the SDK: sends at a steady pace, or notes the time of each message to its 'message' event.

import { RelayClient } from '@agent-relay/sdk'
import { serve } from './serve.ts'

export interface MemberQuestion {
  connect?: { socketPath: string; name: string }
  /** So many to `to`, evenly over the time. */
  send?: { to: string; count: number; ms: number }
  /** The times of the last `count` messages, once that many have come. */
  received?: { count: number }
}

let client: RelayClient
let tookMs: number[] = []

/** CLOCK_MONOTONIC, the same in every process of the machine. */
const nowMs = () => Number(process.hrtime.bigint()) / 1e6

async function connect({ socketPath, name }: { socketPath: string; name: string }): Promise<void> {
  client = new RelayClient({ agentName: name, socketPath, autoConnect: false })
  client.on('message', ({ body }) => tookMs.push(nowMs() - Number(body.slice(0, body.indexOf(' ')))))
  await client.connect()
}

async function send({ to, count, ms }: { to: string; count: number; ms: number }): Promise<void> {
  const padding = 'x'.repeat(1_000)
  const sends: Promise<unknown>[] = []
  const from = nowMs()
  for (let i = 0; i < count; i++) {
    const wait = from + (i * ms) / count - nowMs()
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
    sends.push(client.send(to, `${nowMs()} ${padding}`))
  }
  await Promise.all(sends)
}

async function received({ count }: { count: number }): Promise<number[]> {
  while (tookMs.length < count) await new Promise((resolve) => setTimeout(resolve, 20))
  const taken = tookMs
  tookMs = []
  return taken
}

serve((question: MemberQuestion) => {
  if (question.connect) return connect(question.connect)
  return question.send ? send(question.send) : question.received && received(question.received)
})
