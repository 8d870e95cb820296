// A client that loses its link: it comes back, sends again under the same id, hides repeats, resumes watches; and how it ends.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { guardMs } from '../../../test/guard.ts'
import { aWhile, until } from '../../../test/until.ts'
import { ConnectionError, RelayClient, type RelayClientOptions, type RelayEvent } from '../src/index.ts'
import type { Connector } from '../src/link.ts'
import { refusal } from '../src/protocol/refusals.ts'
import { socketConnector } from '../src/wire.ts'
import { type Asked, message, Peer, type Scratch, scratch } from './peer.ts'

let place: Scratch
let peer: Peer
let clients: RelayClient[]

beforeEach(async () => {
  place = scratch()
  clients = []
  peer = await new Peer(join(place.directory, 'd.sock')).listen()
})
afterEach(async () => {
  await Promise.all(clients.map((client) => client.disconnect()))
  await peer.stop()
  place.remove()
})

function client(options: RelayClientOptions = {}): RelayClient {
  const limits = { backoffMsMin: 4, backoffMsMax: 20, readBatchMs: 5, callAwayMs: guardMs, ...options.limits }
  const made = new RelayClient({ agentName: 'ada', socketPath: peer.path, ...options, limits })
  clients.push(made)
  return made
}

describe('a lost link', () => {
  it('is replaced by a new link with the same name and token', async () => {
    const ada = client()
    const heard: string[] = []
    ada.on('ready', () => heard.push('ready')).on('disconnect', ({ how }) => heard.push(how))
    await ada.connect()
    peer.cutAll()
    await until(() => heard.length === 3)
    expect(heard).toEqual(['ready', 'lost', 'ready'])
    expect(peer.last.hello).toEqual({ cwd: process.cwd(), name: 'ada', token: 'token-of-ada' })
    expect(ada.token).toBe('token-of-ada')
  })

  it('sends unanswered calls again under their ids, in their order, before new ones', async () => {
    const ada = client()
    await ada.connect()
    peer.onCall = () => {}
    const sent = ['one', 'two', 'three'].map((body) => ada.send('bob', body))
    await until(() => peer.asked.length === 3)
    const ids = peer.asked.map(({ id }) => id)
    peer.onCall = (asked) => asked.answer({ id: `m_${asked.input.body}` })
    await peer.stop()
    sent.push(ada.send('bob', 'four'))
    await peer.listen()
    expect((await Promise.all(sent)).map(({ id }) => id)).toEqual(['m_one', 'm_two', 'm_three', 'm_four'])
    expect(peer.asked.slice(3, 6).map(({ id }) => id)).toEqual(ids)
    expect(peer.asked.slice(3).map(({ input }) => input.body)).toEqual(['one', 'two', 'three', 'four'])
    expect([...ids].sort()).toEqual(ids)
  })

  it('counts a wait for a reply from its start', async () => {
    const ada = client()
    await ada.connect()
    peer.onCall = () => {}
    const waiting = ada.sendAndWait('bob', 'work', { timeoutMs: guardMs })
    await until(() => peer.asked.length === 1)
    const from = performance.now()
    await until(() => performance.now() > from + 1)
    peer.onCall = (asked) => asked.answer({ id: 'm_1', reply: message('m_2'), read: 1 })
    peer.cutAll()
    await waiting
    const [first, second] = peer.of('message.send') as [Asked, Asked]
    expect(second.id).toBe(first.id)
    expect(second.input.wait.timeoutMs).toBeLessThan(first.input.wait.timeoutMs)
  })

  it('lets calls wait while away, up to a limit, then fails them clearly and at once, until it is back', async () => {
    const happened: string[] = []
    const connect: Connector = (hello) => {
      happened.push('tried')
      return socketConnector(peer.path)(hello)
    }
    const ada = client({ connect, limits: { callAwayMs: 300 } })
    await ada.connect()
    happened.length = 0
    const sent = new Promise((resolve, reject) =>
      ada.on('disconnect', () => ada.send('bob', 'x').then(resolve, reject)),
    )
    sent.catch(() => happened.push('failed'))
    await peer.stop()
    await expect(sent).rejects.toBeInstanceOf(ConnectionError)
    await expect(sent).rejects.toThrow('agent-relay daemon start')
    expect(happened[0]).toBe('tried')
    expect(happened).toContain('failed')
    // From now on nothing is waited for: both end before the event loop turns.
    const ends: string[] = []
    const again = ada.send('bob', 'y').finally(() => ends.push('call'))
    const status = ada.getStatus().finally(() => ends.push('status'))
    const turn = new Promise<void>((resolve) => setImmediate(resolve)).then(() => ends.push('turn'))
    await expect(again).rejects.toBeInstanceOf(ConnectionError)
    await expect(status).resolves.toMatchObject({ connected: false, project: 'shop' })
    await turn
    expect(ends.at(-1)).toBe('turn')
    await peer.listen()
    await until(() => ada.connected)
    await ada.send('bob', 'z')
    expect(peer.of('message.send').map(({ input }) => input.body)).toEqual(['z'])
  })

  it('gives up a call that is lost with every link', async () => {
    const ada = client({ limits: { callTriesMax: 3 } })
    await ada.connect()
    peer.onCall = ({ session }) => session.cut()
    await expect(ada.send('bob', 'poison')).rejects.toThrow('lost 3 times')
    expect(peer.asked).toHaveLength(3)
  })

  it('takes a call that a stopping daemon refused to the next daemon', async () => {
    const ada = client()
    await ada.connect()
    peer.onCall = (asked) => {
      peer.onCall = (next) => next.answer({ id: 'm_1' })
      asked.refuse('daemon.stopping')
      asked.session.say('BYE', 'x', { refusal: refusal('daemon.stopping') })
    }
    await expect(ada.send('bob', 'x')).resolves.toEqual({ id: 'm_1' })
    expect(peer.asked[1]?.id).toBe(peer.asked[0]?.id)
  })

  it('ends calls for good when the daemon could not read one, or its answer cannot be read', async () => {
    const ada = client()
    await ada.connect()
    peer.onCall = ({ session }) => session.say('ERROR', '-', refusal('frame.invalid', { why: 'not JSON' }))
    await expect(ada.send('bob', 'x')).rejects.toMatchObject({ code: 'frame.invalid' })
    peer.onCall = ({ session }) => session.raw('{broken\n')
    await expect(ada.send('bob', 'x')).rejects.toThrow("the daemon's answer: not JSON")
    peer.onCall = (asked) => asked.answer({})
    await ada.send('bob', 'y')
    expect(peer.of('message.send')).toHaveLength(3)
  })

  it('stops when it is refused on return, and says so', async () => {
    const ada = client()
    const errors: unknown[] = []
    ada.on('error', (error) => errors.push(error))
    await ada.connect()
    peer.onCall = () => {}
    const sent = ada.send('bob', 'x')
    await until(() => peer.asked.length === 1)
    peer.onHello = () => 'auth.denied'
    peer.cutAll()
    await expect(sent).rejects.toMatchObject({ code: 'auth.denied' })
    await aWhile()
    expect(errors).toHaveLength(1)
    expect(peer.sessions).toHaveLength(2)
  })

  it('is retried while a daemon is still stopping', async () => {
    const ada = client()
    await ada.connect()
    let refusedTimes = 0
    peer.onHello = () => (refusedTimes++ < 3 ? 'daemon.stopping' : 'welcome')
    peer.cutAll()
    await until(() => peer.sessions.length === 5 && ada.connected)
  })

  it('is never continued in another workspace', async () => {
    const ada = client()
    await ada.connect()
    peer.onCall = () => {}
    const sent = ada.send('bob', 'x')
    await until(() => peer.asked.length === 1)
    peer.workspaceId = 'ws_2'
    peer.cutAll()
    await expect(sent).rejects.toThrow('a different workspace')
    expect(peer.asked).toHaveLength(1)
  })
})

describe('messages over a lost link', () => {
  it('are shown once: a repeat is hidden and marked again', async () => {
    const ada = client()
    const got: string[] = []
    ada.on('message', ({ id }) => got.push(id))
    peer.onCall = (asked) => {
      asked.answer({ seq: 0, read: 0 })
      if (asked.op !== 'inbox.follow') return
      for (const id of peer.sessions.length === 1 ? ['m_1', 'm_2'] : ['m_1', 'm_2', 'm_3']) {
        asked.session.say('DELIVER', 'x', { watch: asked.id, item: message(id) })
      }
      if (peer.sessions.length === 1) setTimeout(() => peer.cutAll(), 0)
    }
    await until(() => got.length === 3)
    await until(() =>
      peer.of('inbox.read').some(({ session, input }) => session === peer.last && input.messages.includes('m_1')),
    )
    expect(got).toEqual(['m_1', 'm_2', 'm_3'])
  })

  it('are forgotten oldest first, beyond the limit', async () => {
    const ada = client({ limits: { shownMax: 2 } })
    peer.onCall = (asked) =>
      asked.answer({ messages: [message('m_1'), message('m_2'), message('m_3')], more: 0, read: 0 })
    expect(await ada.getInbox()).toHaveLength(3)
    expect((await ada.getInbox()).map(({ id }) => id)).toContain('m_1')
  })
})

describe('watch', () => {
  const event = (seq: number, type = 'message.created') =>
    ({ seq, type, ts: '', by: 'bob', fact: { type } }) as unknown as RelayEvent
  /** As the daemon does it: every event after `since`, several of one entry under one number. */
  function journal(events: RelayEvent[]): (asked: Asked, upTo?: number) => void {
    return (asked, upTo = events.length) => {
      asked.answer({ seq: asked.input.since ?? 0 })
      for (const item of events.slice(0, upTo).filter(({ seq }) => seq > (asked.input.since ?? 0))) {
        asked.session.say('EVENT', 'x', { watch: asked.id, item })
      }
    }
  }

  it('resumes with no gap and no repeat, also inside one entry', async () => {
    const events = [1, 2, 2, 2, 3, 4, 4, 5].map((seq, n) => event(seq, `t${n}`))
    const tell = journal(events)
    let upTo = 1
    peer.onCall = (asked) => {
      tell(asked, upTo)
      if (upTo++ < events.length) setTimeout(() => asked.session.cut(), 2)
    }
    const ada = client()
    const got: RelayEvent[] = []
    const watch = ada.watch({ types: ['run.*'] }, (one) => got.push(one))
    await watch.ready
    await until(() => got.length >= events.length)
    expect(got).toEqual(events)
    expect(peer.asked.map(({ input }) => input.since)).toEqual([undefined, 0, 1, 1, 1, 2, 3, 3])
    expect(peer.asked.every(({ input }) => input.types[0] === 'run.*')).toBe(true)
  })

  it('from now on resumes from the number it was set up at', async () => {
    peer.onCall = (asked) => asked.answer({ seq: 41 })
    const ada = client()
    await ada.watch({}, () => {}).ready
    peer.cutAll()
    await until(() => peer.asked.length === 2)
    expect(peer.asked[1]?.input).toEqual({ since: 41 })
  })

  it('is set up again when it was cut off for lagging, and ends when it is refused', async () => {
    const ada = client()
    const errors: unknown[] = []
    ada.on('error', (error) => errors.push(error))
    peer.onCall = (asked) => {
      asked.answer({ seq: 7 })
      const given = refusal(peer.asked.length === 1 ? 'session.stalled' : 'auth.denied', { seconds: 1, why: 'no' })
      asked.session.say('BYE', 'x', { watch: asked.id, refusal: given })
    }
    ada.watch({}, () => {})
    await until(() => errors.length === 1)
    expect(errors[0]).toMatchObject({ code: 'auth.denied' })
    expect(peer.asked).toHaveLength(2)
    expect(ada.connected).toBe(true)
  })

  it('is set up over the next link when a replaced key ends the session that is just asked for it', async () => {
    const ada = client()
    peer.onCall = (asked) => {
      if (peer.asked.length > 1) return asked.answer({ seq: 7 })
      asked.session.say('BYE', '-', { refusal: refusal('auth.revoked', { why: 'replaced.' }) })
    }
    await ada.connect()
    await ada.watch({}, () => {}).ready
    expect(peer.of('event.follow')).toHaveLength(2)
  })

  it('stops, and says so to the daemon', async () => {
    const ada = client()
    peer.onCall = (asked) => asked.answer({ seq: 0 })
    const watch = ada.watch({}, () => {})
    await watch.ready
    watch.stop()
    await until(() =>
      peer.last.received.some(({ type, payload }) => type === 'BYE' && (payload as { watch: string }).watch),
    )
    peer.cutAll()
    await until(() => peer.sessions.length === 2)
    await ada.getStatus()
    expect(peer.of('event.follow')).toHaveLength(1)
  })
})

describe('disconnect', () => {
  it('marks what was shown, says goodbye, ends calls in flight, and is final', async () => {
    const ada = client({ limits: { readBatchMs: 60_000 } })
    const closings: string[] = []
    ada.on('disconnect', ({ how }) => closings.push(how))
    let shown = 0
    ada.on('message', () => shown++)
    peer.onCall = (asked) => {
      if (asked.op === 'message.send') return
      asked.answer({ seq: 0, read: 1 })
      if (asked.op === 'inbox.follow') asked.session.say('DELIVER', 'x', { watch: asked.id, item: message('m_1') })
    }
    const sent = ada.send('bob', 'x')
    const ended = expect(sent).rejects.toThrow('disconnected')
    await until(() => shown === 1)
    await ada.disconnect()
    await ended
    await until(() => closings.length === 1)
    expect(closings).toEqual(['asked'])
    expect(peer.of('inbox.read')[0]?.input).toEqual({ messages: ['m_1'] })
    await until(() => peer.last.received.at(-1)?.type === 'BYE')
    expect(peer.last.received.at(-1)).toMatchObject({ type: 'BYE', payload: {} })
    await expect(ada.send('bob', 'y')).rejects.toBeInstanceOf(ConnectionError)
    await expect(ada.connect()).rejects.toBeInstanceOf(ConnectionError)
    await ada.disconnect()
    await aWhile()
    expect(peer.sessions).toHaveLength(1)
  })

  it('ends the attempts of a client that is away, and one that is still connecting', async () => {
    const away = client()
    await away.connect()
    peer.onHello = () => 'silence'
    const connecting = client({ autoConnect: false })
    const refused = expect(connecting.connect()).rejects.toBeInstanceOf(ConnectionError)
    await until(() => peer.sessions.length === 2)
    await connecting.disconnect()
    await refused
    await peer.stop()
    await until(() => !away.connected)
    await away.disconnect()
  })

  it('leaves nothing that keeps the process alive', async () => {
    peer.onCall = (asked) => asked.answer({ seq: 0 })
    const script = `
      const { RelayClient } = await import(${JSON.stringify(join(import.meta.dirname, '../dist/index.js'))})
      new RelayClient({ socketPath: '/nonexistent/d.sock' }).on('message', () => {})
      const there = new RelayClient({ socketPath: ${JSON.stringify(peer.path)}, agentName: 'ada' }).on('message', () => {})
      await there.watch({}, () => {}).ready
      await there.disconnect()
      console.log('end')`
    // The built files, in a process of their own: what keeps an event loop alive shows nowhere else.
    const run = promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { timeout: guardMs })
    await expect(run).resolves.toEqual({ stdout: 'end\n', stderr: '' })
  })
})
