// Approvals of a worker: from its program's question to the row on the page of a person, and from the answer there to the program that waits for
// it. Each is one commit and its way to another process, so the floor of both is what a message takes in the same run, from its send to the page.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { RelayClient } from '@agent-relay/sdk'
import { controlSocketPath } from '@agent-relay/sdk/internal/discover'
import { socketConnector, websocketConnector } from '@agent-relay/sdk/wire'
import { WebSocket } from 'ws'
import { temporaryFolder } from './child.ts'
import { median } from './figures.ts'
import { startRelay } from './relay.ts'
import { against, type Measure } from './table.ts'

const limits = { shown: 1.5, answered: 1.5 }
const agent = fileURLToPath(new URL('../../agents/scripted-acp-agent.mjs', import.meta.url))

/** What the worker's program notes of each question: when it was asked and when it had its answer. */
interface Noted {
  event: string
  askedAt: number
  answeredAt: number
}

/** By the wall clock, as the worker's program tells it: finer than a millisecond. */
const now = (): number => performance.timeOrigin + performance.now()

export async function measureApprovals(rounds: number): Promise<Measure[]> {
  const dataDir = temporaryFolder()
  const relay = await startRelay([], { hasHttp: true, dataDir })
  const page = await openPage(dataDir, relay.url as string)
  try {
    const lead = await relay.client('lead')
    await relay.client('peer')
    const log = join(dataDir, 'asked')
    const news = followNews(page)
    await news.ready
    const [shown, answered, floors]: [number[], number[], number[]] = [[], [], []]
    let next = news.approval()
    const task = Array.from({ length: rounds }, (_, n) => `ask 1 question${n}`).join(', ')
    const command = [process.execPath, agent, '--log', log]
    await lead.call('worker.spawn', { name: 'asker', cli: 'acp', command, cwd: temporaryFolder(), task })
    for (let n = 0; n < rounds; n++) {
      const { at, id, digest } = await next
      shown.push(at)
      const message = news.message()
      const sentAt = now()
      await lead.send('peer', 'x')
      floors.push((await message) - sentAt)
      next = news.approval()
      answered.push(now())
      await page.call('approval.answer', { id, digest, choice: '1' })
    }
    const noted = await readNotes(log, rounds)
    const toRow = noted.map(({ askedAt }, n) => (shown[n] as number) - askedAt)
    const toProgram = noted.map(({ answeredAt }, n) => answeredAt - (answered[n] as number))
    const row = (measure: string, times: number[], max: number) =>
      against(measure, { value: median(times), floor: median(floors), unit: 'ms', max })
    const lagMs = await relay.lagMs()
    return [
      row("a worker's question to its row, over a message, p50", toRow, limits.shown),
      row("an answer to the worker's program, over a message, p50", toProgram, limits.answered),
    ].map((each) => ({ ...each, lagMs }))
  } finally {
    await page.disconnect()
    await relay.stop()
  }
}

/** What a person has open. While no agent has processes here, a program may have the link to it. */
async function openPage(dataDir: string, origin: string): Promise<RelayClient> {
  const control = await socketConnector(controlSocketPath(dataDir))({})
  const { url } = await control.call('page.link', { workspace: 'bench' }, 'c_link')
  await control.close()
  const headers = { origin, 'x-relay-page': '1', 'content-type': 'application/json' }
  const body = JSON.stringify({ code: new URL(url).searchParams.get('code') })
  const response = await fetch(`${origin}/session`, { method: 'POST', headers, body })
  const cookie = response.headers.get('set-cookie')?.split(';')[0] as string
  const open = (address: string) => new WebSocket(address, { headers: { origin, cookie } }) as never
  const page = new RelayClient({ connect: websocketConnector(`${origin}/ws?page=1`, { open }), autoConnect: false })
  await page.connect()
  return page
}

interface Opened {
  at: number
  id: string
  digest: string
}

/** The next of each, asked for before it can come. */
function followNews(page: RelayClient) {
  let onApproval: (opened: Opened) => void = () => {}
  let onMessage: (at: number) => void = () => {}
  const { ready } = page.watch({ types: ['approval.opened', 'message.created'] }, (event) => {
    const at = now()
    if (event.type === 'approval.opened') onApproval({ at, id: event.fact.id, digest: event.fact.digest })
    else if (event.message.from === 'lead') onMessage(at)
  })
  return {
    ready,
    approval: () => new Promise<Opened>((resolve) => (onApproval = resolve)),
    message: () => new Promise<number>((resolve) => (onMessage = resolve)),
  }
}

async function readNotes(log: string, count: number): Promise<Noted[]> {
  for (;;) {
    const lines = readFileSync(log, 'utf8').split('\n').slice(0, -1)
    const noted = lines.map((line) => JSON.parse(line) as Noted).filter(({ event }) => event === 'permission')
    if (noted.length === count) return noted
    await sleep(5)
  }
}
