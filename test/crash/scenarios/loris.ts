// Far more connections than the port has places, that say nothing, little, or slowly: callers with the key are served all the time, and the
// others are gone when their time is over.

import { connect, type Socket } from 'node:net'
import { type DaemonProcess, sleep, type Trial } from '@agent-relay/prove/harness/processes'
import { until } from '../../until.ts'
import { RawHttp } from '../harness/raw-http.ts'

/** Strangers that the port has places for, and those that came within the last second. */
const heldMax = 512
const [dripMs, callsMs] = [500, 20]

export interface Loris {
  /** Calls with the key, each over a new connection, while the others held on; and how many of these failed. */
  calls: number
  failures: string[]
  p99Ms: number
  /** Connections of strangers that were still open, at last. */
  held: number
  /** Bodies of authenticated callers that trickled: still open after theirs. */
  bodiesAfter: number
}

/** Watches them until few are left, or to the end: until the last one's time is over. */
export async function slowLoris(
  { key }: Trial,
  { url }: DaemonProcess,
  count: number,
  isToTheEnd: boolean,
): Promise<Loris> {
  const { hostname, port, host } = new URL(url)
  const upgrade = `GET /ws HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`
  const kinds = ['', 'GET / HTT', `POST /api/agent.list HTTP/1.1\r\nHost: ${host}\r\nX-Slow: `, upgrade]
  const open = (bytes: string) =>
    new Promise<Socket>((resolve) => {
      const socket = connect(Number(port), hostname, () => resolve(socket))
      socket.on('error', () => resolve(socket)).resume()
      if (bytes !== '') socket.write(bytes)
    })
  const isOpen = ({ destroyed, readableEnded }: Socket) => !destroyed && !readableEnded
  const sockets: Socket[] = []
  // One byte at a time, for as long as they are let.
  const drip = setInterval(() => {
    for (const socket of sockets) if (isOpen(socket) && socket.writable) socket.write('x')
  }, dripMs)
  const calling = callMeanwhile(url, key)
  for (let i = 0; i < count; i += 50)
    sockets.push(
      ...(await Promise.all(Array.from({ length: 50 }, (_, j) => open(kinds[(i + j) % kinds.length] as string)))),
    )
  const bodies = await Promise.all(Array.from({ length: 50 }, () => open(trickling(host, key))))
  sockets.push(...bodies)
  const strangers = sockets.filter((socket) => !bodies.includes(socket))
  const openOnes = () => strangers.filter(isOpen).length
  await until(() => openOnes() <= (isToTheEnd ? 0 : heldMax))
  const held = openOnes()
  clearInterval(drip)
  const called = await calling.stop()
  const bodiesAfter = bodies.filter(isOpen).length
  for (const socket of sockets) socket.destroy()
  return { ...called, held, bodiesAfter }
}

const trickling = (host: string, key: string): string =>
  `POST /api/message.send HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key}\r\nX-Relay-Agent: slow\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{"body":"`

function callMeanwhile(url: string, key: string) {
  let isOver = false
  const tookMs: number[] = []
  const failures: string[] = []
  const done = (async () => {
    while (!isOver) {
      const from = performance.now()
      try {
        const raw = await RawHttp.open(url)
        const { status } = await raw.post('/api/agent.list', '{}', { authorization: `Bearer ${key}` })
        await raw.end()
        if (status !== 200) failures.push(`status ${status}`)
      } catch (error) {
        failures.push((error as Error).message)
      }
      tookMs.push(performance.now() - from)
      await sleep(callsMs)
    }
  })()
  return {
    async stop() {
      isOver = true
      await done
      tookMs.sort((a, b) => a - b)
      return { calls: tookMs.length, failures, p99Ms: tookMs[Math.floor(tookMs.length * 0.99)] ?? Number.NaN }
    },
  }
}
