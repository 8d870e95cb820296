// Revoked keys and tokens: refused on every wire, live sessions included. Sessions that never showed them go on.

import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { controlSocketPath, socketPathOf } from '@agent-relay/sdk/internal/discover'
import { type Closing, type Link, makeIds, socketConnector, websocketConnector } from '@agent-relay/sdk/wire'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { guardMs } from '../../../../../test/guard.ts'
import { isWithin } from '../../../../../test/until.ts'
import { bearer, eras, HttpWorld, textOf } from '../../wires/http-world.ts'

const id = makeIds()
let world: HttpWorld
let control: Link
let links: Link[]
beforeEach(async () => {
  world = await HttpWorld.start({}, ['home', 'other'])
  control = await socketConnector(controlSocketPath(world.dir))({})
  links = [control]
})
afterEach(async () => {
  for (const link of links) await link.close()
  await world.stop()
})

const rotate = () => control.call('workspace.rotate-key', { workspace: 'home' }, id('c'))
const storedKeys = (): string[] => {
  const { workspaces } = JSON.parse(readFileSync(join(world.dir, 'credentials.json'), 'utf8'))
  return Object.values(workspaces as Record<string, { key: string }>).map(({ key }) => key)
}
async function opened(link: Promise<Link>): Promise<Link> {
  links.push(await link)
  return link
}
const overSocket = (hello: object) => opened(socketConnector(socketPathOf(world.dir, 'home'))(hello))
const overWebSocket = (hello: object) => opened(websocketConnector(world.url)(hello))

/** How it ended, if it did. */
async function ending(link: Link): Promise<Closing | 'alive'> {
  return (await isWithin(guardMs, link.closed)) ? link.closed : 'alive'
}

describe('a new key', () => {
  test('is in the owner’s file and opens the workspace, and the former key opens nothing', async () => {
    const former = world.key
    const { key, name } = await rotate()
    expect([name, storedKeys().includes(key), storedKeys().includes(former)]).toEqual(['home', true, false])
    expect((await world.api('workspace.status', {}, bearer(former))).status).toBe(401)
    expect((await world.api('workspace.status', {}, bearer(key))).body.workspace).toBe('home')
    await expect(overSocket({ key: former })).rejects.toMatchObject({ code: 'auth.denied' })
    await expect(overWebSocket({ key: former })).rejects.toMatchObject({ code: 'auth.required' })
    for (const era of eras)
      await expect(world.client(era, { ...bearer(former), 'x-relay-agent': 'Ann' })).rejects.toThrow()
    expect((await fetch(`${world.url}/sse`, { headers: bearer(former) })).status).toBe(401)
  })

  test('ends the sessions with the former key on socket and WebSocket, with the reason, and no others', async () => {
    const plain = await overSocket({ name: 'Plain' })
    const token = await world.token('Tok')
    const byToken = [await overSocket({ token }), await overWebSocket({ token })]
    const byKey = [
      await overSocket({ key: world.key }),
      await overSocket({ name: 'Ann', key: world.key }),
      await overWebSocket({ key: world.key }),
      await overWebSocket({ name: 'Bob', key: world.key, token: await world.token('Bob') }),
    ]
    const following = byKey[0]?.watch('event.follow', {}, id('w'), { item: () => {}, end: () => {} })
    await following
    await rotate()
    for (const link of byKey) {
      expect(await ending(link)).toMatchObject({ how: 'refused', refusal: { code: 'auth.revoked' } })
      await expect(link.call('agent.list', {}, id('c'))).rejects.toThrow()
    }
    for (const link of [plain, ...byToken]) {
      const { agents } = await link.call('agent.list', { includeOffline: true }, id('c'))
      expect(
        agents
          .filter(({ status }) => status !== 'offline')
          .map(({ name }) => name)
          .sort(),
      ).toEqual(['Plain', 'Tok'])
    }
  })

  test('ends a wait that was asked for with the former key', async () => {
    const ann = await overWebSocket({ name: 'Ann', key: world.key })
    await world.token('Bob')
    const input = { to: 'Bob', body: 'still there?', wait: { timeoutMs: 60_000 } }
    const asked = world.api('message.send', input, world.as('Cyd'))
    const waiting = ann.call('message.send', input, id('c'))
    waiting.catch(() => {})
    await expect.poll(async () => (await ann.call('workspace.status', {}, id('c'))).messages).toBe(2)
    await rotate()
    await expect(waiting).rejects.toMatchObject({ code: 'auth.revoked' })
    expect((await asked).status).toBeGreaterThanOrEqual(400)
  })

  test.each(eras)('ends the sessions of %s', async (era) => {
    const client = await world.client(era, world.as('Ann'))
    const token = await world.token('Tok')
    const other = await world.client(era, bearer(token))
    expect(await textOf(client, 'relay_status')).toContain('Ann')
    const { key } = await rotate()
    // Not only its next call: the session itself is over.
    const { agents } = (await world.api('agent.list', {}, bearer(token))).body
    expect(agents.map(({ name }: { name: string }) => name)).toEqual(['Tok'])
    await expect(textOf(client, 'relay_status')).rejects.toThrow()
    expect(await textOf(other, 'relay_status')).toContain('Tok')
    const again = await world.client(era, { ...bearer(key), 'x-relay-agent': 'Ann' })
    expect(await textOf(again, 'relay_status')).toContain('Ann')
  })

  test('closes an open stream of /sse, also of a session without a name', async () => {
    const streams = await Promise.all(
      [bearer(world.key), world.as('Ann')].map((headers) => fetch(`${world.url}/sse`, { headers })),
    )
    const ends = streams.map(async ({ body }) => {
      for await (const _ of body as unknown as AsyncIterable<Uint8Array>);
    })
    await rotate()
    await expect(Promise.all(ends)).resolves.toBeDefined()
  })

  test('ends a pipe over HTTP and says why', async () => {
    const socket = connect(world.port, '127.0.0.1')
    let heard = ''
    socket.setEncoding('utf8').on('data', (text) => {
      heard += text
    })
    const closed = new Promise((resolve) => socket.once('close', resolve))
    const head = ['GET /pipe HTTP/1.1', `Host: 127.0.0.1:${world.port}`, 'Connection: Upgrade']
    socket.write(`${[...head, 'Upgrade: agent-relay-pipe', `Authorization: Bearer ${world.key}`].join('\r\n')}\r\n\r\n`)
    const mcp = { pipe: 'p_12345678', name: 'Piper' }
    socket.write(`${JSON.stringify({ v: 1, type: 'HELLO', id: 'pipe', ts: 0, payload: { mcp } })}\n`)
    await expect.poll(() => heard).toContain('WELCOME')
    await rotate()
    await closed
    expect(heard).toContain('auth.revoked')
  })

  test('is refused for an unknown workspace', async () => {
    await expect(control.call('workspace.rotate-key', { workspace: 'nowhere' }, id('c'))).rejects.toMatchObject({
      code: 'workspace.unknown',
    })
  })
})

describe('agent.revoke', () => {
  test('needs the key, and a known name', async () => {
    const token = await world.token('Ann')
    expect((await world.api('agent.revoke', { name: 'Ann' }, bearer(token))).status).toBe(403)
    expect((await world.api('agent.revoke', { name: 'Nobody' })).status).toBe(404)
  })

  test('ends every token of the agent and every session with one, and no others', async () => {
    const token = await world.token('Ann')
    const bob = await overWebSocket({ token: await world.token('Bob') })
    const gone = [await overSocket({ token }), await overWebSocket({ token })]
    const byKey = await overSocket({ name: 'Ann', key: world.key })
    const clients = await Promise.all(eras.map((era) => world.client(era, bearer(token))))
    expect((await world.api('agent.revoke', { name: 'Ann' })).body).toEqual({ agent: 'Ann' })
    for (const link of gone) expect(await ending(link)).toMatchObject({ refusal: { code: 'auth.revoked' } })
    for (const client of clients) await expect(textOf(client, 'relay_status')).rejects.toThrow()
    expect((await world.api('inbox.count', {}, bearer(token))).status).toBe(401)
    await expect(overSocket({ token })).rejects.toMatchObject({ code: 'auth.denied' })
    await expect(overWebSocket({ token })).rejects.toMatchObject({ code: 'auth.required' })
    expect((await bob.call('inbox.count', {}, id('c'))).total).toBe(0)
    expect((await byKey.call('inbox.count', {}, id('c'))).total).toBe(0)
    const { events } = (await world.api('event.list', { types: ['agent.tokens-revoked'] })).body
    expect(events).toMatchObject([{ fact: { agent: 'Ann' } }])
  })
})

describe('workspace.find', () => {
  test('answers the workspace of a key, and one and the same refusal for any other text', async () => {
    for (const name of ['home', 'other']) {
      const key = world.keys.get(name) as string
      expect(await control.call('workspace.find', { key }, id('c'))).toMatchObject({ name, open: true })
    }
    const former = world.key
    await rotate()
    const answers = [former, 'rk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', await token(), 'x'].map((key) =>
      control.call('workspace.find', { key }, id('c')).catch(({ code, message }) => ({ code, message })),
    )
    const [first, ...rest] = await Promise.all(answers)
    expect(first).toMatchObject({ code: 'auth.denied' })
    for (const answer of rest) expect(answer).toEqual(first)
  })
  const token = async () => (await overSocket({ name: 'Ann' })).welcome.token as string
})
