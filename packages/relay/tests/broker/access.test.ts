// Every operation, asked of a daemon by every caller over its own wire: the answers match docs/reference/access.md, which is made from the operations' own
// columns. A new operation needs a word there (the compiler asks for it) and an input here.

import { controlSocketPath, socketPathOf } from '@agent-relay/sdk/internal/discover'
import { type CallName, type InputOf, type OperationName, operations, type WatchName } from '@agent-relay/sdk/protocol'
import { type Link, makeIds, socketConnector, websocketConnector } from '@agent-relay/sdk/wire'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Access, accessOf, type Caller } from '../../../../scripts/access.ts'
import { toRefusal } from '../../src/core/refusal-error.ts'
import { HttpWorld, rawStatus } from '../wires/http-world.ts'

const names = Object.keys(operations) as OperationName[]
const id = makeIds()
const nothing = 'x_nothing'
/** The key that the owner asks about. */
let known = ''

/** What is asked: well formed, and harmless even where it is allowed. `me` is the asker's own name. */
const inputs: { [O in OperationName]: (me: string) => InputOf<O> } = {
  'agent.register': (name) => ({ name }),
  'agent.list': () => ({}),
  'agent.brief': () => ({ after: 'compact' }),
  'agent.show': () => ({ state: 'idle' }),
  'agent.revoke': () => ({ name: 'Spare' }),
  'agent.retire': () => ({ name: 'Nobody' }),
  'channel.create': (me) => ({ channel: `of-${me}-${id('c').slice(-8)}` }),
  'channel.join': () => ({ channel: 'build', create: true }),
  'channel.leave': () => ({ channel: 'build' }),
  'channel.remove': () => ({ channel: 'general' }),
  'channel.list': () => ({}),
  'message.send': () => ({ to: '*', body: 'hello' }),
  'message.react': () => ({ message: nothing, emoji: '👍' }),
  'message.thread': () => ({ thread: nothing }),
  'message.search': () => ({ text: 'hello' }),
  'message.receipts': () => ({ message: nothing }),
  'conversation.list': () => ({}),
  'message.list': () => ({ conversation: '#general' }),
  'agent.mail': (agent) => ({ agent, box: 'inbox' }),
  'inbox.take': () => ({}),
  'inbox.peek': () => ({}),
  'inbox.owed': () => ({}),
  'inbox.read': () => ({ messages: [nothing] }),
  'inbox.offer': () => ({ messages: [nothing], route: 'push' }),
  'inbox.count': () => ({}),
  'inbox.follow': () => ({}),
  'event.list': () => ({}),
  'event.follow': () => ({}),
  'action.register': (me) => ({ name: `of.${me.toLowerCase()}`, description: 'none', inputSchema: {} }),
  'action.withdraw': () => ({ name: 'no.such' }),
  'action.list': () => ({}),
  'action.invoke': () => ({ name: 'no.such', input: {} }),
  'action.result': () => ({ invocation: nothing }),
  'action.follow': () => ({}),
  'action.answer': () => ({ invocation: nothing, output: 1 }),
  'worker.spawn': () => ({ name: 'Hired', cli: 'no-such-cli' }),
  'worker.retry': () => ({ name: 'Hired' }),
  'worker.release': () => ({ name: 'Hired' }),
  'worker.pause': () => ({ name: 'Hired' }),
  'worker.resume': () => ({ name: 'Hired' }),
  'worker.changes': () => ({}),
  'worker.diff': () => ({ name: 'Nobody' }),
  'worker.sweep': () => ({}),
  'worker.list': () => ({}),
  'worker.screen': () => ({ name: 'Hired' }),
  'worker.follow': () => ({ name: 'Hired' }),
  'worker.type': () => ({ name: 'Hired', data: 'x' }),
  'worker.resize': () => ({ name: 'Hired', cols: 80, rows: 24 }),
  'run.start': () => ({ contract: 'None.', harness: 'external' }),
  'run.status': () => ({ runs: [nothing] }),
  'run.list': () => ({}),
  'run.complete': () => ({ run: nothing, summary: '' }),
  'run.stop': () => ({ run: nothing }),
  'run.contract': () => ({ run: nothing }),
  'run.payload': () => ({ run: nothing }),
  'claim.edit': () => ({ cwd: '/', files: [] }),
  'claim.add': () => ({ cwd: '/', files: ['none'] }),
  'claim.drop': () => ({ cwd: '/', files: ['none'] }),
  'claim.list': () => ({}),
  'approval.list': () => ({}),
  'approval.show': () => ({ id: 'ap-1' }),
  'approval.ask': (key) => ({ key, vendor: 'x', tool: 'x', input: '', choices: [] }),
  'approval.settle': (key) => ({ key, how: 'cancelled' }),
  'approval.answer': () => ({ id: 'ap-0', choice: 'allow', digest: '' }),
  'message.queue': () => ({ to: 'Bob', body: 'x' }),
  'outbox.list': () => ({}),
  'outbox.drop': () => ({ id: 'q1' }),
  'need.list': () => ({}),
  'need.dismiss': () => ({ key: 'told:#nowhere' }),
  'notice.ask': (name) => ({ agent: name, when: 'idle' }),
  'notice.drop': (name) => ({ agent: name }),
  'notice.list': () => ({}),
  'spend.list': () => ({}),
  'machine.list': () => ({}),
  'workspace.status': () => ({}),
  'workspace.policy': () => ({}),
  'workspace.set-policy': () => ({}),
  'workspace.open': () => ({ workspace: 'home' }),
  'workspace.create': () => ({ workspace: 'home' }),
  'workspace.close': () => ({ workspace: 'nowhere' }),
  'workspace.remove': () => ({ workspace: 'nowhere' }),
  'workspace.share': () => ({ workspace: 'nowhere' }),
  'workspace.unshare': () => ({ workspace: 'nowhere' }),
  'workspace.hand-over': () => ({ workspace: 'nowhere', machine: 'box' }),
  'workspace.reconcile': () => ({ workspace: 'nowhere' }),
  'workspace.rotate-key': () => ({ workspace: 'nowhere' }),
  'workspace.copy': () => ({ workspace: 'nowhere', to: '/nowhere' }),
  'workspace.prune': () => ({ workspace: 'nowhere', olderMs: 1 }),
  'workspace.place': () => ({ workspace: 'home', from: '/nowhere', key: known }),
  'workspace.find': () => ({ key: known }),
  'workspace.list': () => ({}),
  'workspace.overview': () => ({}),
  'daemon.status': () => ({}),
  'daemon.person': () => ({}),
  'page.link': () => ({ workspace: 'home' }),
  'page.logout': () => ({}),
  'daemon.stop': () => ({}),
}
const programRun: InputOf<'run.start'> = { contract: 'None.', harness: 'claude' }

/** These say that the asker may not; every other refusal says that it may, and that there is no such thing. */
const denials = ['auth.denied', 'auth.required', 'agent.required', 'spawn.denied', 'operation.unknown', 'route.unknown']
type Ask = (operation: OperationName, input: unknown) => Promise<string>
const isDenied = (code: string) => denials.includes(code)

/** `ok`, or the refusal's code. */
const overLink =
  (link: Link): Ask =>
  async (operation, input) => {
    const asked =
      operations[operation].kind === 'watch'
        ? link.watch(operation as WatchName, input as never, id('w'), { item: () => {}, end: () => {} })
        : link.call(operation as CallName, input as never, id('c'))
    // It is answered when it is over.
    if (operation === 'approval.ask')
      link.call('approval.settle', { key: (input as { key: string }).key, how: 'cancelled' }, id('c')).catch(() => {})
    return asked.then(
      () => 'ok',
      (error) => error.code,
    )
  }
const overApi =
  (world: HttpWorld, headers: Record<string, string>): Ask =>
  async (operation, input) => {
    const body = JSON.stringify(input)
    const asked = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body }
    const answer = await fetch(`${world.url}/api/${operation}`, asked)
    return answer.ok ? 'ok' : (await answer.json()).error.code
  }

/** What an asker meets, in the words of the table; `allow` sets the policy to what a token may start. */
async function met(
  ask: Ask,
  operation: OperationName,
  me: string,
  allow: (spawn: 'none' | 'clis') => Promise<unknown>,
) {
  const can = async (input: unknown) => !isDenied(await ask(operation, input))
  const input = inputs[operation](me)
  const isAllowed = await can(input)
  if (!['run.start', 'worker.spawn', 'worker.retry'].includes(operation)) return isAllowed ? 'yes' : 'no'
  const program = operation === 'run.start' ? programRun : input
  const startsNow = await can(program)
  await allow('clis')
  const startsThen = await can(program)
  await allow('none')
  if (startsNow) return 'yes'
  if (startsThen) return isAllowed ? 'loop' : 'policy'
  return isAllowed ? 'program' : 'no'
}

async function table(ask: Ask, me: string, world: HttpWorld, asked = names): Promise<Record<string, Access>> {
  const { dispatch } = await world.daemon.open('home')
  const allow = (spawn: 'none' | 'clis') =>
    dispatch.workspace.engine.submit({
      rule: 'workspace.set-policy',
      input: { spawn },
      by: 'agent-relay',
      cause: id('d'),
    })
  const found: Record<string, Access> = {}
  for (const operation of asked) found[operation] = await met(ask, operation, me, allow)
  return found
}
const expected = (caller: Caller, asked = names) =>
  Object.fromEntries(asked.map((operation) => [operation, accessOf(operation, caller)]))
/** A watch cannot be asked by a call that stands alone. */
const calls = names.filter((name) => operations[name].kind !== 'watch')

describe('which operations each kind of session may ask', () => {
  let shut: HttpWorld
  let open: HttpWorld
  let lift: HttpWorld
  const links: Link[] = []
  const opened = async (opening: Promise<Link>) => {
    links.push(await opening)
    return links.at(-1) as Link
  }
  beforeAll(async () => {
    const bare = { env: { PATH: '' } }
    shut = await HttpWorld.start({}, ['home'], bare)
    open = await HttpWorld.start({ isOpen: true }, ['home'], bare)
    lift = await HttpWorld.start({ isOpen: true }, ['home'], { ...bare, roles: ['pm', 'dev'] })
    for (const world of [shut, open]) await world.token('Spare')
    known = shut.key
  })
  afterAll(async () => {
    await Promise.all(links.map((link) => link.close()))
    await Promise.all([shut, open, lift].map((world) => world.stop()))
  })

  test('a session without a credential on an open port, and one with a token made there', async () => {
    const link = await opened(websocketConnector(open.url)({ name: 'Guest' }))
    expect(await table(overLink(link), 'Guest', open)).toEqual(expected('open'))
    const said = { 'x-relay-agent': 'Said' }
    expect(await table(overApi(open, said), 'Said', open, calls)).toEqual(expected('open', calls))
    const { token } = (await websocketConnector(open.url)({ name: 'Made' })).welcome
    const made = await opened(websocketConnector(open.url)({ token }))
    expect(await table(overLink(made), 'Made', open)).toEqual(expected('open'))
  })

  test("a lift's port: no such routes, and of the operations those of its three tools", async () => {
    const routes: Record<string, string> = {}
    for (const operation of names) routes[operation] = await overApi(lift, lift.as('pm'))(operation, {})
    expect(new Set(Object.values(routes))).toEqual(new Set(['route.unknown']))
    const upgrade = (path: string, protocol: string) =>
      rawStatus(
        lift.port,
        `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${lift.port}\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n` +
          'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
      )
    expect(await upgrade('/ws', 'websocket')).toBe(404)
    // The page is there for whoever has its link, and for nobody else.
    expect(await upgrade('/ws?page=1', 'websocket')).toBe(401)
    expect(await upgrade('/pipe?page=1', 'websocket')).toBe(404)
    for (const [path, status] of [
      ['/', 200],
      ['/session', 401],
      ['/assets/x.js', 404],
      ['/api/agents', 404],
      ['/api/agents/run_x/payload?right=a.b.c', 404],
    ])
      expect([path, (await fetch(`${lift.url}${path}`)).status]).toEqual([path, status])
    expect((await fetch(`${lift.url}/healthz`)).status).toBe(200)
    const { dispatch } = await lift.daemon.open('home')
    for (const hello of [{ name: 'pm' }, { name: 'dev', key: lift.key }]) {
      const { session } = await dispatch.openSession({ door: 'lift', kind: 'model' }, hello)
      const ask: Ask = async (operation, input) => {
        try {
          if (operations[operation].kind === 'watch')
            dispatch.watch(session, operation, input, { isReady: () => true, item: () => {}, end: () => {} }).stop()
          else await dispatch.call(session, operation, input, id('c'))
          return 'ok'
        } catch (error) {
          return toRefusal(error).code
        }
      }
      expect(await table(ask, hello.name, lift)).toEqual(expected('lift'))
    }
  })

  test("an agent's token over TCP", async () => {
    const token = await shut.token('Ada')
    const link = await opened(websocketConnector(shut.url)({ token }))
    expect(await table(overLink(link), 'Ada', shut)).toEqual(expected('token'))
    const shown = { authorization: `Bearer ${token}` }
    expect(await table(overApi(shut, shown), 'Ada', shut, calls)).toEqual(expected('token', calls))
  })

  test('an agent on the socket', async () => {
    const link = await opened(socketConnector(socketPathOf(shut.dir, 'home'))({ name: 'Sue' }))
    expect(await table(overLink(link), 'Sue', shut)).toEqual(expected('agent'))
  })

  test("the key's holder", async () => {
    for (const [world, name] of [
      [shut, 'Kim'],
      [open, 'Kay'],
    ] as const) {
      const link = await opened(websocketConnector(world.url)({ key: world.key, name }))
      expect(await table(overLink(link), name, world)).toEqual(expected('key'))
    }
  })

  test('the page, which needs its link on an open port too', async () => {
    for (const world of [shut, open]) {
      const bare = rawStatus(
        world.port,
        `GET /ws?page=1 HTTP/1.1\r\nHost: 127.0.0.1:${world.port}\r\nOrigin: ${world.url}\r\nConnection: Upgrade\r\n` +
          'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
      )
      expect(await bare).toBe(401)
      expect((await fetch(`${world.url}/session`)).status).toBe(401)
      const link = await opened(world.page({ cookie: await world.login() }))
      expect(await table(overLink(link), link.welcome.agent as string, world)).toEqual(expected('page'))
    }
  })

  test('the owner, on the control socket', async () => {
    const control = await opened(socketConnector(controlSocketPath(shut.dir))({}))
    expect(await table(overLink(control), 'Nobody', shut)).toEqual(expected('owner'))
  })
})
