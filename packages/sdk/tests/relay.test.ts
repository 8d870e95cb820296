// The relay as programs use it, over the Unix socket and over WebSocket, against a real daemon: every method once, and the promises of its loops.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { guardMs } from '../../../test/guard.ts'
import { until } from '../../../test/until.ts'
import { Daemon } from '../../relay/src/daemon/daemon.ts'
import { ActionError, connectRelay, type Relay } from '../src/index.ts'
import { controlSocketPath, socketPathOf } from '../src/internal/discover.ts'
import { socketConnector } from '../src/wire.ts'

const dir = mkdtempSync(join(tmpdir(), 'relay-sdk-'))
let daemon: Daemon
let key: string
const open: Relay[] = []
beforeAll(async () => {
  const options = { dataDir: dir, credentialsPath: join(dir, 'credentials.json'), isMemory: true, http: { port: 0 } }
  daemon = (await Daemon.start({ ...options, onTrouble: () => {}, onStop: () => {} })) as Daemon
  key = (await daemon.open('home')).key as string
})
afterEach(async () => {
  for (const relay of open.splice(0)) await relay.close()
})
afterAll(async () => {
  await daemon.stop()
  rmSync(dir, { recursive: true, force: true })
})

const ways = {
  socket: (name: string) => connectRelay({ name, key, socketPath: socketPathOf(dir, 'home') }),
  websocket: (name: string) => connectRelay({ name, key, url: daemon.url as string }),
}
let people = 0

describe.each(['socket', 'websocket'] as const)('over %s', (way) => {
  async function join(name: string): Promise<Relay> {
    const relay = await ways[way](`${name}${++people}`)
    open.push(relay)
    return relay
  }
  const unread = async (relay: Relay) => (await relay.inbox.list()).map(({ body }) => body)

  it('knows agents, channels and messages', async () => {
    const [ada, bob] = [await join('Ada'), await join('Bob')]
    const [adaName, bobName] = [ada.name as string, bob.name as string]
    expect(ada.token).toMatch(/^at_/)
    expect((await ada.agents.list()).map(({ name }) => name)).toEqual(expect.arrayContaining([adaName, bobName]))
    const channel = `#plan${people}`
    expect(await ada.channels.create(channel)).toEqual({ channel })
    await bob.channels.join(channel)
    expect(await ada.channels.list()).toContainEqual({ name: channel, members: 2, messages: 0, joined: true })
    const { id } = await ada.messages.send(channel, 'who reviews?', { kind: 'question' })
    const reply = await bob.messages.reply(id, 'I do')
    expect(reply.to).toBe(channel)
    await ada.messages.react(reply, '👍')
    expect((await ada.messages.thread(id)).messages.map(({ body }) => body)).toEqual(['who reviews?', 'I do'])
    expect((await bob.messages.search('reviews', { channel })).messages).toMatchObject([{ id }])
    expect(await ada.messages.receipts(id)).toMatchObject([{ agent: bobName, state: 'stored' }])
    await bob.channels.leave(channel)
    expect((await ada.workspace.status()).workspace).toBe('home')
    const answer = ada.messages.ask(bobName, 'ready?', { timeoutMs: guardMs })
    for await (const message of bob.inbox) {
      if (message.body !== 'ready?') continue
      await bob.messages.reply(message, 'yes')
      break
    }
    expect((await answer).body).toBe('yes')
  })

  it('is told once of another agent, and drops what it has asked', async () => {
    const [ada, bob] = [await join('Ada'), await join('Bob')]
    const name = bob.name as string
    const asked = await ada.messages.send(name, 'which branch?')
    expect(await ada.agents.notifyWhen(name, 'answered', { message: asked })).toEqual({})
    await ada.agents.notifyWhen(name, 'ended')
    await ada.agents.notifyWhen(name, 'idle')
    await ada.agents.dropNotices(name, 'idle')
    expect(await ada.agents.notices()).toMatchObject([
      { agent: name, when: 'answered', message: asked.id },
      { agent: name, when: 'ended' },
    ])
    const { id } = await bob.messages.reply(asked, 'main')
    await until(async () => (await unread(ada)).includes(`${name} has answered: ${id} "main"`))
    expect((await ada.agents.notices()).map(({ when }) => when)).toEqual(['ended'])
  })

  it('marks a message read when the next one is asked for, and the last one when its signal ends the loop', async () => {
    const [ada, bob] = [await join('Ada'), await join('Bob')]
    for (const body of ['one', 'two', 'three']) await ada.messages.send(bob.name as string, body)
    const stop = new AbortController()
    const seen: string[] = []
    for await (const { body } of bob.inbox.follow({ signal: stop.signal })) {
      seen.push(body)
      if (body === 'two') await expect.poll(() => unread(bob)).toEqual(['two', 'three'])
      if (body === 'three') stop.abort()
    }
    expect([seen, await unread(bob)]).toEqual([['one', 'two', 'three'], []])
  })

  it('leaves a message unread if an error interrupted its handling, and hands it out again', async () => {
    const [ada, bob] = [await join('Ada'), await join('Bob')]
    for (const body of ['one', 'two']) await ada.messages.send(bob.name as string, body)
    const fall = async () => {
      for await (const { body } of bob.inbox) if (body === 'two') throw new Error('fell over two')
    }
    await expect(fall()).rejects.toThrow('fell over two')
    expect(await unread(bob)).toEqual(['two'])
    for await (const message of bob.inbox) {
      expect(message).toMatchObject({ body: 'two', content: 'two' })
      await bob.inbox.markRead(message)
      break
    }
    expect((await bob.inbox.count()).total).toBe(0)
  })

  it('a call in the middle of the loop marks nothing read', async () => {
    const [ada, bob] = [await join('Ada'), await join('Bob')]
    for (const body of ['one', 'two']) await ada.messages.send(bob.name as string, body)
    for await (const message of bob.inbox) {
      await bob.messages.send(ada.name as string, `got ${message.body}`)
      expect(await unread(bob)).toEqual(['one', 'two'])
      break
    }
    expect(await unread(bob)).toEqual(['one', 'two'])
  })

  it('follows events from a number on, in order, also slower than they come', async () => {
    const [ada, bob] = [await join('Ada'), await join('Bob')]
    const { next } = await ada.events.list({ since: 0, limit: 1 })
    const since = (await ada.workspace.status()).seq
    expect(next).toBeLessThanOrEqual(since)
    const channel = `#many${people}`
    await ada.channels.create(channel)
    const count = 1_500
    await Promise.all(Array.from({ length: count }, (_, i) => ada.messages.send(channel, `m${i}`)))
    const seen: string[] = []
    for await (const { message } of ada.events.follow({ since, types: ['message.created'] })) {
      // So that more come than are waited for: another reader has them all before this one goes on.
      if (seen.length === 0) await readAll(bob.events.follow({ since, types: ['message.created'] }), count)
      if (message?.channel === channel) seen.push(message.body)
      if (seen.length === count) break
    }
    expect(seen).toEqual(Array.from({ length: count }, (_, i) => `m${i}`))
  })

  it('an action fails with a code of its own, or says what is wrong with the code', async () => {
    const [ada, bob] = [await join('Ada'), await join('Bob')]
    const name = `quota.use${people}`
    await ada.actions.register({
      name,
      description: 'Uses the quota.',
      inputSchema: z.object({ code: z.string() }),
      handler: ({ code }) => {
        throw new ActionError(code, 'Try again tomorrow.')
      },
    })
    const own = await bob.actions.invoke(name, { code: 'quota_exceeded' })
    expect(own).toMatchObject({ ok: false, error: { code: 'quota_exceeded', message: 'Try again tomorrow.' } })
    expect((await bob.actions.result(own.invocationId)).result?.error?.code).toBe('quota_exceeded')
    const bad = await bob.actions.invoke(name, { code: 'Quota exceeded!' })
    expect(bad.error).toMatchObject({ code: 'handler_failed', message: expect.stringContaining('not an error code') })
  })

  it.each([
    ['inputSchema', { type: 'object' }, undefined],
    ['inputSchema', undefined, undefined],
    ['outputSchema', z.object({}), { type: 'object' }],
  ])('refuses an action whose %s is not a schema of zod 4, and says how to make one', async (field, input, output) => {
    const ada = await join('Ada')
    const schemas = { inputSchema: input as never, outputSchema: output as never }
    const offered = ada.actions.register({ name: 'math.none', description: '', ...schemas, handler: () => ({}) })
    await expect(offered).rejects.toThrow(`${field} must be a schema of zod 4`)
    await expect(offered).rejects.toThrow('z.fromJSONSchema(schema)')
  })

  it('offers actions and calls them', async () => {
    const [ada, bob] = [await join('Ada'), await join('Bob')]
    const name = `math.add${people}`
    const inputSchema = z.object({ a: z.number(), b: z.number() })
    const handler = ({ a, b }: z.infer<typeof inputSchema>) => a + b
    await ada.actions.register({ name, description: 'Adds two numbers.', inputSchema, handler })
    expect((await bob.actions.list()).map((action) => action.name)).toContain(name)
    expect(await bob.actions.invoke(name, { a: 2, b: 3 })).toMatchObject({ ok: true, output: 5 })
  })

  it('ends its loops when it closes', async () => {
    const [ada, bob] = [await join('Ada'), await join('Bob')]
    const seen = [0, 0, 0]
    const loops = [ada.inbox, ada.events, ada.events.follow({ since: 0 })].map((items, i) =>
      drain(items, () => {
        seen[i] = 1
      }),
    )
    await until(async () => {
      await bob.messages.send(ada.name as string, 'hello')
      return seen.every((count) => count > 0)
    })
    await ada.close()
    await Promise.all(loops)
    await expect(ada.agents.list()).rejects.toMatchObject({ code: 'connection.lost' })
  })
})

async function drain(items: AsyncIterable<unknown>, onItem = () => {}): Promise<void> {
  for await (const _ of items) onItem()
}

async function readAll(items: AsyncIterable<unknown>, count: number): Promise<void> {
  let seen = 0
  for await (const _ of items) if (++seen === count) return
}

it('a loop whose key was replaced ends with the reason', async () => {
  const control = await socketConnector(controlSocketPath(dir))({})
  const relay = await ways.socket('Keyed')
  open.push(relay)
  const loops = [drain(relay.inbox), drain(relay.events)]
  const ends = Promise.allSettled(loops)
  key = (await control.call('workspace.rotate-key', { workspace: 'home' }, 'rotate')).key
  await control.close()
  for (const end of await ends) expect(end).toMatchObject({ status: 'rejected', reason: { code: 'auth.denied' } })
})

it('rejects when no daemon listens, and when the daemon refuses', async () => {
  await expect(connectRelay({ socketPath: join(dir, 'no.sock') })).rejects.toMatchObject({ code: 'daemon.not-running' })
  await expect(connectRelay({ key: 'rk_wrong', url: daemon.url as string })).rejects.toMatchObject({
    code: 'auth.required',
  })
})

it('a second program with the same name is told its new name, or refused', async () => {
  const socketPath = socketPathOf(dir, 'home')
  const asked = `branch-bot${++people}`
  const renamed: unknown[] = []
  const first = await connectRelay({ name: asked, socketPath })
  open.push(first)
  const second = await connectRelay({ name: asked, socketPath, onRenamed: (name) => renamed.push(name) })
  open.push(second)
  expect([first.name, second.name, renamed]).toEqual([asked, `${asked}-2`, [{ asked, name: `${asked}-2` }]])
  const strict = connectRelay({ name: asked, socketPath, strictName: true })
  await expect(strict).rejects.toMatchObject({ code: 'agent.name-taken' })
})
