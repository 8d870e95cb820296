// The contract of a link, as one suite that every link must pass.

import { ConnectionError, DaemonNotRunningError, RelayError } from '@agent-relay/sdk'
import type { RelayEvent } from '@agent-relay/sdk/protocol'
import { type Link, socketConnector } from '@agent-relay/sdk/wire'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { PlayClock } from './clock.ts'
import { type House, houseOf, links } from './houses.ts'
import { eventually } from './play.ts'

describe.each(links)('a link (%s)', (kind) => {
  let house: House
  let ada: Link
  let bob: Link
  const open: Link[] = []
  const enter = async (name: string): Promise<Link> => {
    const link = await house.connector('main')({ name })
    open.push(link)
    return link
  }

  beforeEach(async () => {
    house = await houseOf(kind, new PlayClock())
    await house.open('main')
    ada = await enter('ada')
    bob = await enter('bob')
  })
  afterEach(async () => {
    for (const link of open.splice(0)) await link.close()
    await house.close()
  })

  test('is welcomed by name', () => {
    const { agent, workspace, token, session, workspaceId, seq } = ada.welcome
    expect({ agent, workspace }).toEqual({ agent: 'ada', workspace: 'main' })
    expect(token).toMatch(/^at_/)
    expect(session).not.toBe(bob.welcome.session)
    expect(workspaceId).toBe(bob.welcome.workspaceId)
    expect(bob.welcome.seq).toBeGreaterThan(seq)
  })

  test('a hello that is refused rejects with the refusal', async () => {
    const refused = house.connector('main')({ name: 'ada', strict: true })
    await expect(refused).rejects.toBeInstanceOf(RelayError)
    await expect(refused).rejects.toMatchObject({ code: 'agent.name-taken', retry: false })
  })

  test('answers calls, and rejects with the refusal and what it tells', async () => {
    expect(await ada.call('message.send', { to: 'bob', body: 'hello' }, '1')).toMatchObject({ to: 'bob' })
    const refused = ada.call('message.send', { to: 'bbo', body: 'x' }, '2')
    await expect(refused).rejects.toMatchObject({ code: 'agent.unknown', details: { nearest: ['bob'] } })
  })

  test('carries many calls at once, and keeps their order', async () => {
    const sends = Array.from({ length: 200 }, (_, i) =>
      ada.call('message.send', { to: 'bob', body: String(i) }, `send-${i}`),
    )
    const seqs = (await Promise.all(sends)).map(({ seq }) => seq)
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b))
    const { messages } = await bob.call('inbox.take', { limit: 500 }, 'take')
    expect(messages.map(({ body }) => body)).toEqual(sends.map((_, i) => String(i)))
  })

  test('the same id in flight twice is one command', async () => {
    const twice = [1, 2].map(() => ada.call('message.send', { to: 'bob', body: 'once' }, 'same'))
    const [one, other] = await Promise.all(twice)
    expect(other).toEqual(one)
    expect((await bob.call('inbox.take', {}, 'take')).messages).toHaveLength(1)
  })

  test('a watch brings items until it is ended', async () => {
    const items: RelayEvent[] = []
    const sink = { item: (item: RelayEvent) => void items.push(item), end: () => {} }
    const { seq } = await bob.watch('event.follow', { types: ['message.created'] }, 'w', sink)
    expect(seq).toBeGreaterThan(0)
    await ada.call('message.send', { to: 'bob', body: '1' }, '1')
    await eventually(() => expect(items.map(({ message }) => message?.body)).toEqual(['1']))
    bob.unwatch('w')
    await ada.call('message.send', { to: 'bob', body: '2' }, '2')
    await bob.call('workspace.status', {}, '3')
    expect(items).toHaveLength(1)
    // The id is free again.
    await bob.watch('event.follow', { since: seq, types: ['message.created'] }, 'w', sink)
    await eventually(() => expect(items.map(({ message }) => message?.body)).toEqual(['1', '1', '2']))
  })

  test('messages that a watch brought and nobody marked are free when the watch ends', async () => {
    await ada.call('message.send', { to: 'bob', body: '1' }, '1')
    const bodies: string[] = []
    await bob.watch('inbox.follow', {}, 'w', { item: ({ body }) => void bodies.push(body), end: () => {} })
    await eventually(() => expect(bodies).toEqual(['1']))
    expect((await bob.call('inbox.take', {}, nextId())).messages).toEqual([])
    bob.unwatch('w')
    await eventually(async () => expect((await bob.call('inbox.take', {}, nextId())).messages).toHaveLength(1))
  })

  test('a watch that is refused rejects', async () => {
    const nobody = await house.connector('main')({})
    open.push(nobody)
    const sink = { item: () => {}, end: () => {} }
    await expect(nobody.watch('inbox.follow', {}, 'w', sink)).rejects.toMatchObject({ code: 'agent.required' })
  })

  test('a call that waits is given up by unwatch, and the link lives on', async () => {
    const waiting = ada.call('message.send', { to: 'bob', body: 'ready?', wait: {} }, 'ask')
    waiting.catch(() => {})
    await eventually(async () => expect((await bob.call('inbox.count', {}, nextId())).total).toBe(1))
    ada.unwatch('ask')
    await expect(waiting).rejects.toMatchObject({ code: 'wait.cancelled' })
    expect(await ada.call('workspace.status', {}, 'after')).toMatchObject({ agent: 'ada' })
  })

  test('closing ends calls in flight with a ConnectionError, and settles `closed`', async () => {
    const waiting = ada.call('message.send', { to: 'bob', body: 'ready?', wait: {} }, 'ask')
    waiting.catch(() => {})
    await eventually(async () => expect((await bob.call('inbox.count', {}, nextId())).total).toBe(1))
    await ada.close()
    await expect(waiting).rejects.toBeInstanceOf(ConnectionError)
    expect(await ada.closed).toMatchObject({ how: 'asked' })
    await expect(ada.call('workspace.status', {}, 'after')).rejects.toBeInstanceOf(ConnectionError)
    await expect(ada.watch('event.follow', {}, 'w', { item: () => {}, end: () => {} })).rejects.toBeInstanceOf(
      ConnectionError,
    )
    // Its agent is away now.
    await eventually(async () => {
      const sent = await bob.call('message.send', { to: 'ada', body: 'gone?' }, nextId())
      expect(sent.away).toEqual(['ada'])
    })
    await ada.close()
  })

  test('when the other side goes, the link says so and ends what is in flight', async () => {
    const waiting = ada.call('message.send', { to: 'bob', body: 'ready?', wait: {} }, 'ask')
    waiting.catch(() => {})
    await eventually(async () => expect((await bob.call('inbox.count', {}, nextId())).total).toBe(1))
    await house.close()
    expect((await ada.closed).how).toMatch(/lost|refused/)
    // Told why, or just cut off: either way it may be asked again under the same id.
    await expect(waiting).rejects.toMatchObject({ retry: true })
  })
})

test('where nobody listens, a socket link says that the daemon is not running', async () => {
  const nowhere = socketConnector('/nonexistent/daemon.sock')({ name: 'ada' })
  await expect(nowhere).rejects.toBeInstanceOf(DaemonNotRunningError)
})

let ids = 0
function nextId(): string {
  return `n${ids++}`
}
