// The ticket that continues a session: only its own client knows it, and it continues no session of another agent.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { socketPathOf } from '@agent-relay/sdk/internal/discover'
import type { Hello } from '@agent-relay/sdk/protocol'
import { type Link, socketConnector } from '@agent-relay/sdk/wire'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Daemon } from '../../../src/daemon/daemon.ts'

let dataDir: string
let daemon: Daemon
let calls = 0
const id = () => `c${calls++}`
let links: Link[]

async function start(): Promise<void> {
  const credentialsPath = join(dataDir, 'credentials.json')
  const options = { dataDir, credentialsPath, onTrouble: () => {}, onStop: () => {} }
  daemon = (await Daemon.start(options)) as Daemon
  await daemon.open('home')
}

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'relay-ids-'))
  links = []
  await start()
})
afterEach(async () => {
  for (const link of links) await link.close()
  await daemon.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

async function enter(hello: Hello): Promise<Link> {
  const link = await socketConnector(socketPathOf(dataDir, 'home'))(hello)
  links.push(link)
  return link
}

const bodies = async (link: Link) => (await link.call('inbox.take', {}, id())).messages.map(({ body }) => body)

test('the id of a session that others see cannot be used to continue that session', async () => {
  const victim = await enter({ name: 'Victim' })
  const mal = await enter({ name: 'Mal' })
  const offered = { name: 'of.mal', description: 'Mal asks who calls', inputSchema: {} }
  await mal.call('action.register', offered, id())
  const told = new Promise<string | undefined>((resolve) => {
    const item = ({ caller, invocation }: { caller: { sessionId?: string }; invocation: string }) => {
      resolve(caller.sessionId)
      void mal.call('action.answer', { invocation, output: 1 }, id())
    }
    void mal.watch('action.follow', {}, id(), { item, end: () => {} })
  })
  await victim.call('action.register', { ...offered, name: 'of.victim' }, id())
  await victim.call('action.invoke', { name: 'of.mal', input: {} }, id())
  await mal.call('message.send', { to: 'Victim', body: 'the plan' }, id())
  expect(await bodies(victim)).toEqual(['the plan'])
  const { events } = await mal.call('event.list', {}, id())
  const ids = events.flatMap(({ fact }) => ('session' in fact && typeof fact.session === 'string' ? fact.session : []))
  expect(new Set([...ids, await told]).size).toBeGreaterThan(1)
  for (const each of [...ids, await told]) expect(each).not.toBe(victim.welcome.session)
  await victim.close()
  const posing = await Promise.all([...ids, await told].map((session) => enter({ name: 'Mal', session })))
  const back = await enter({ name: 'Victim', token: victim.welcome.token })
  expect(await bodies(back)).toEqual(['the plan'])
  expect(posing.length).toBeGreaterThan(1)
})

test("with a session's secret another agent cannot hide messages; the same agent can continue it, also after a restart", async () => {
  const victim = await enter({ name: 'Victim' })
  const { session, token } = victim.welcome
  const ada = await enter({ name: 'Ada' })
  await ada.call('message.send', { to: 'Victim', body: 'the plan' }, id())
  expect(await bodies(victim)).toEqual(['the plan'])
  await victim.close()
  const mal = await enter({ name: 'Mal', session })
  const back = await enter({ name: 'Victim', token })
  expect(await bodies(back)).toEqual(['the plan'])
  await mal.close()
  await back.close()
  await daemon.stop()
  await start()
  const own = back.welcome.session
  const again = await enter({ name: 'Victim', token, session: own })
  expect(again.welcome.session).toBe(own)
  // It holds what it was handed before: not handed out twice.
  expect(await bodies(again)).toEqual([])
  await again.close()
  expect(await bodies(await enter({ name: 'Victim', token }))).toEqual(['the plan'])
})
