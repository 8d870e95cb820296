// The events of opencode's server about a worker, from a stand-in that sends them as the real one does (test/real has that): they count before the
// screen, which shows something else here, and the screen counts again when the server is gone.

import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import type { Harness } from '../../src/supervisor/harness/harness.ts'
import { opencodeCliServer } from '../../src/supervisor/opencode/server.ts'
import { scripted, WorkerWorld } from './worker-world.ts'

let end = async () => {}
/** The conversations with which programs were to go on. */
const continued: (string | undefined)[] = []
afterEach(() => end())

const asks = {
  id: 'per_1',
  sessionID: 's1',
  permission: 'bash',
  patterns: ['touch a'],
  metadata: { command: 'touch a' },
  always: ['touch *'],
}

interface HiredOptions {
  task?: string
  unanswered?: number
  /** What its server does where it is told to abort a turn. */
  atAbort?: 'obeys' | 'refuses' | 'is silent' | 'closes'
}

/** A worker whose terminal is idle, and its server. */
async function hired({ task, unanswered = 0, atAbort = 'obeys' }: HiredOptions = {}) {
  let ignored = 0
  const lists: Record<string, unknown> = {
    '/session/status': {},
    '/permission': [],
    '/question': [],
    '/session': [{ id: 's1' }],
    '/session/s1': { id: 's1' },
    '/session/s2': { id: 's2', parentID: 's1' },
  }
  const posted: { path: string | undefined; body: unknown }[] = []
  const streams = new Set<ServerResponse>()
  const server = createServer(async (request, response) => {
    if (request.url === '/event') {
      // As the real one while it starts.
      if (ignored++ < unanswered) return
      streams.add(response.writeHead(200, { 'content-type': 'text/event-stream' }))
      response.write('data: {"id":"evt_0","type":"server.connected","properties":{}}\n\n')
      return
    }
    if (request.method === 'POST') posted.push({ path: request.url, body: await json(request).catch(() => undefined) })
    if (request.url?.endsWith('/abort')) {
      if (atAbort === 'is silent') return
      if (atAbort === 'closes') return response.destroy()
      if (atAbort === 'refuses') response.statusCode = 500
    }
    response.end(JSON.stringify(request.method === 'POST' ? true : lists[request.url ?? '']))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stop = () => {
    server.close()
    server.closeAllConnections()
  }
  onTestFinished(stop)
  const { port } = server.address() as AddressInfo
  continued.length = 0
  const served: Harness = {
    ...scripted,
    canContinue: () => true,
    conversationIds: /^s\d$/,
    cliServer: () => opencodeCliServer({ port, secret: 'x', agent: undefined }),
    launch(context) {
      continued.push(context.conversation?.id)
      return scripted.launch(context)
    },
  }
  const world = await WorkerWorld.start({ harnesses: [served] })
  end = () => world.stop()
  await world.hire('Eve', { task })
  await until(() => streams.size > 0)
  const tell = (type: string, properties: object) => {
    for (const stream of streams) {
      // In two pieces, as a socket may cut it.
      const text = `data: ${JSON.stringify({ id: 'evt_1', type, properties })}\n\n`
      stream.write(text.slice(0, 20))
      stream.write(text.slice(20))
    }
  }
  const isAt = (type: string) => tell('session.status', { sessionID: 's1', status: { type } })
  const is = (status: string) => until(async () => (await world.status('Eve')) === status)
  const approvals = async () => (await world.lead.call('approval.list', {})).approvals
  return { ...{ world, lists, posted, tell, isAt, is, approvals, stop, streams } }
}

test('it is busy as long as its server says so, and gets its mail afterwards', async () => {
  const { world, posted, isAt, is, stop } = await hired()
  await is('idle')
  isAt('busy')
  await is('busy')
  // The first goes into the terminal, where there may be no conversation yet.
  await world.lead.call('message.send', { to: 'Eve', body: 'one' })
  isAt('retry')
  isAt('busy')
  await is('busy')
  expect(world.submitted('Eve')).toEqual([])
  isAt('idle')
  await until(() => world.submitted('Eve').length === 1)
  await is('idle')
  await world.lead.call('message.send', { to: 'Eve', body: 'two' })
  await until(() => posted.length === 1)
  expect(posted[0]?.path).toBe('/session/s1/prompt_async')
  // It has it, and may begin a little later.
  await is('busy')
  isAt('busy')
  // Without its server, the worker's state is read off the screen.
  stop()
  await is('idle')
})

test('what it asks is a row with words, and goes with the turn', async () => {
  const { world, lists, posted, tell, isAt, is, approvals } = await hired()
  isAt('busy')
  lists['/permission'] = [asks]
  tell('permission.asked', asks)
  await is('blocked')
  await until(async () => (await approvals()).length === 1)
  expect((await world.told('Eve')).at(-1)).toContain('it waits for a permission')
  await world.answers('Eve', 'reject')
  await until(() => posted.length === 1)
  expect(posted[0]).toEqual({ path: '/permission/per_1/reply', body: { reply: 'reject' } })
  lists['/permission'] = []
  tell('permission.replied', { sessionID: 's1', requestID: 'per_1', reply: 'reject' })
  await is('busy')
  // A turn that is broken off takes its question back.
  lists['/question'] = [{ ...asks, id: 'que_1', questions: [{ question: 'Which?', options: [{ label: 'A' }] }] }]
  tell('question.asked', { id: 'que_1', sessionID: 's1' })
  await is('blocked')
  await until(async () => (await approvals()).some(({ tool }) => tool === 'question'))
  isAt('idle')
  await is('idle')
  await until(async () => (await approvals()).length === 0)
})

test.each(['obeys', 'refuses', 'is silent', 'closes'] as const)(
  'its turn is interrupted, and its server %s',
  async (atAbort) => {
    const { world, lists, posted, isAt, is } = await hired({ atAbort })
    lists['/session/status'] = { s1: { type: 'busy' } }
    isAt('busy')
    await is('busy')
    const keys = () => world.log('Eve').filter(({ event }) => event === 'escape')
    const answer = world.lead.call('worker.interrupt', { name: 'Eve' })
    await until(() => posted.length === 1)
    expect(posted[0]?.path).toBe('/session/s1/abort')
    if (atAbort !== 'obeys') await until(() => keys().length === 1)
    isAt('idle')
    expect((await answer).worker.name).toBe('Eve')
    await is('idle')
    // What the terminal was told is the last word, and it is told once.
    await world.lead.call('message.send', { to: 'Eve', body: 'go on' })
    await until(() => world.submitted('Eve').length === 1)
    expect(keys()).toHaveLength(atAbort === 'obeys' ? 0 : 1)
    await world.lead.call('worker.release', { name: 'Eve' })
  },
)

test('what waits when it is first heard of, and what is not understood', async () => {
  const { lists, tell, is, streams } = await hired()
  tell('session.status', { sessionID: 7 })
  tell('message.updated', { info: { id: 'm', role: 'user' } })
  tell('something.new', {})
  await is('idle')
  lists['/session/status'] = { s1: { type: 'busy' } }
  lists['/permission'] = [asks]
  // It is asked again how it stands.
  for (const stream of streams) stream.destroy()
  await is('blocked')
})

test('the answers of a turn are counted together, once, and those of its helpers too', async () => {
  const { world, tell, isAt } = await hired()
  const answer = (id: string, sessionID: string, cost: number, input: number) => ({
    info: {
      ...{ id, sessionID, role: 'assistant', cost, modelID: 'm', providerID: 'p' },
      tokens: { input, output: 5, reasoning: 2, cache: { read: 30, write: 4 } },
    },
  })
  const spend = async () => (await world.lead.call('spend.list', { by: 'model' })).spend
  isAt('busy')
  tell('message.updated', answer('m1', 's1', 0, 0))
  tell('message.updated', answer('m1', 's1', 0.25, 10))
  tell('session.status', { sessionID: 's2', status: { type: 'busy' } })
  tell('message.updated', answer('m2', 's2', 0.5, 20))
  tell('session.status', { sessionID: 's2', status: { type: 'idle' } })
  isAt('idle')
  await until(async () => (await spend()).length === 1)
  const first = { model: 'p/m', turns: 1, usd: 0.75, tokens: { input: 98, output: 14, cached: 60 } }
  expect(await spend()).toEqual([first])
  // It is told once more, and again at the end of the next turn, of which the price is not known.
  isAt('busy')
  tell('message.updated', answer('m2', 's2', 0.5, 20))
  tell('message.updated', answer('m3', 's1', 0, 1))
  isAt('idle')
  await until(async () => (await spend())[0]?.turns === 2)
  expect(await spend()).toEqual([{ ...first, turns: 2, tokens: { input: 133, output: 21, cached: 90 } }])
})

test('the conversation of its turns is kept, and not that of a helper, so that a later program goes on with it', async () => {
  const { world, tell, isAt, is } = await hired({ task: 'dig' })
  const goOn = () => world.lead.call('worker.retry', { name: 'Eve', continue: true })
  tell('session.status', { sessionID: 's2', status: { type: 'busy' } })
  await is('busy')
  await world.lead.call('worker.release', { name: 'Eve' })
  await expect(goOn()).rejects.toMatchObject({ code: 'worker.no-conversation' })
  await world.lead.call('worker.retry', { name: 'Eve' })
  await until(async () => {
    isAt('busy')
    const { events } = await world.lead.call('event.list', { types: ['worker.changed'] })
    return events.some(({ fact }) => 'conversation' in fact)
  })
  await world.lead.call('worker.release', { name: 'Eve' })
  await goOn()
  expect(continued).toEqual([undefined, undefined, 's1'])
  await world.lead.call('worker.release', { name: 'Eve' })
})

test('a request that a starting server never answers is made again', async () => {
  const { isAt, is } = await hired({ unanswered: 1 })
  await is('idle')
  isAt('busy')
  await is('busy')
})
