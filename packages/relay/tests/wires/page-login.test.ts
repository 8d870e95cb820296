// The login of the page: a code that works once and not for long, a cookie that ends, and no access for other pages.

import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { controlSocketPath } from '@agent-relay/sdk/internal/discover'
import type { OutputOf } from '@agent-relay/sdk/protocol'
import { type Link, socketConnector } from '@agent-relay/sdk/wire'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { PlayClock } from '../../../../test/plays/clock.ts'
import { PageLogin } from '../../src/wires/page-login.ts'
import { HttpWorld } from './http-world.ts'

let world: HttpWorld
let control: Link
let calls = 0
beforeEach(async () => {
  world = await HttpWorld.start()
  control = await socketConnector(controlSocketPath(world.dir))({})
})
afterEach(async () => {
  await control.close()
  await world.stop()
})

const link = (): Promise<OutputOf<'page.link'>> => control.call('page.link', { workspace: 'home' }, `c${calls++}`)
const codeOf = ({ url }: { url: string }) => new URL(url).searchParams.get('code') as string
const own = () => ({ origin: world.url, 'x-relay-page': '1', 'content-type': 'application/json' })
const login = (code: string, headers: Record<string, string> = own()) =>
  fetch(`${world.url}/session`, { method: 'POST', headers, body: JSON.stringify({ code }) })
const cookieOf = (response: Response) => response.headers.get('set-cookie')?.split(';')[0] as string
const whoAmI = (cookie: string) => fetch(`${world.url}/session`, { headers: { cookie } })

async function loggedIn(): Promise<string> {
  const response = await login(codeOf(await link()))
  expect(response.status).toBe(204)
  return cookieOf(response)
}

/** The WELCOME, or the status that the upgrade was refused with. */
function hello(headers: Record<string, string>, path = '/ws?page=1', said: object = {}): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const ws = new WebSocket(world.url.replace('http', 'ws') + path, { headers })
    ws.on('unexpected-response', (_, { statusCode }) => resolve(statusCode))
    ws.on('error', reject)
    ws.on('open', () => ws.send(JSON.stringify({ v: 1, type: 'HELLO', id: 'h', ts: 0, payload: said })))
    ws.on('message', (data) => {
      resolve(JSON.parse(String(data)))
      ws.close()
    })
  })
}

test('a code is exchanged once for a cookie that no script can read', async () => {
  const code = codeOf(await link())
  const first = await login(code)
  expect(first.status).toBe(204)
  const set = first.headers.get('set-cookie') as string
  for (const part of ['HttpOnly', 'SameSite=Strict', 'Path=/']) expect(set).toContain(part)
  expect((await login(code)).status).toBe(401)
  expect(await (await whoAmI(cookieOf(first))).json()).toEqual({
    ...{ workspace: 'home', workspaces: ['home'] },
    ...{ agent: 'human', isOpen: false, hasDemo: true, ownName: 'agent-relay', faults: [], clis: expect.any(Array) },
  })
})

test('codes that are wrong, empty or no text are refused, and many wrong ones end those that are out', async () => {
  const good = codeOf(await link())
  for (const code of ['', 'AAAA-AAAA', 'x'.repeat(10_000)]) expect((await login(code)).status).toBe(401)
  for (let n = 0; n < 20; n++) await login(`AAAA-${String(n).padStart(4, '2')}`)
  expect((await login(good)).status).toBe(401)
  expect((await login(codeOf(await link()))).status).toBe(204)
})

test('wrong codes are counted from zero again once they have ended the codes that were out', async () => {
  for (let n = 0; n < 20; n++) await login('AAAA-AAAA')
  const good = codeOf(await link())
  expect((await login('AAAA-AAAA')).status).toBe(401)
  expect((await login(good)).status).toBe(204)
})

test('what comes in place of a code is read up to its limit, and need not be an object', async () => {
  const say = (body: string) => fetch(`${world.url}/session`, { method: 'POST', headers: own(), body })
  for (const body of ['null', '5', '""', '[]']) expect((await say(body)).status).toBe(401)
  expect((await say('{')).status).toBe(400)
  expect((await say(JSON.stringify({ code: 'A'.repeat(100_000) }))).status).toBe(413)
})

describe('by the cookie the person acts, with the rights of the key', () => {
  test('whatever the page says of itself', async () => {
    const headers = { cookie: await loggedIn(), origin: world.url }
    const welcome = await hello(headers, '/ws?page=1', { name: 'Mallory', type: 'agent' })
    expect(welcome).toMatchObject({ type: 'WELCOME', payload: { workspace: 'home', agent: 'human' } })
  })
  test.each<[string, (cookie: string) => Record<string, string>, string]>([
    ['without a cookie', () => ({ origin: world.url }), '/ws?page=1'],
    ['with a forged cookie', (cookie) => ({ origin: world.url, cookie: `${cookie}x` }), '/ws?page=1'],
    ['without an origin', (cookie) => ({ cookie }), '/ws?page=1'],
    [
      'from another name of this machine',
      (cookie) => ({ cookie, origin: `http://localhost:${world.port}` }),
      '/ws?page=1',
    ],
  ])('not %s', async (_what, headers, path) => {
    expect(await hello(headers(await loggedIn()), path)).toBe(401)
  })
  test('not from another origin, not even one that may talk to the port', async () => {
    const cookie = await loggedIn()
    expect(await hello({ cookie, origin: 'http://evil.example' })).toBe(403)
    await world.stop()
    world = await HttpWorld.start({ allowOrigins: ['http://localhost:5173'] })
    control = await socketConnector(controlSocketPath(world.dir))({})
    const again = await loggedIn()
    expect(await hello({ cookie: again, origin: 'http://localhost:5173' })).toBe(401)
  })
  test('and only where it is asked for: the plain wire looks at no cookie', async () => {
    const cookie = await loggedIn()
    expect(await hello({ cookie, origin: world.url }, '/ws')).toMatchObject({
      type: 'ERROR',
      payload: { code: 'auth.required' },
    })
    expect(
      (await fetch(`${world.url}/api/agent.list`, { method: 'POST', headers: { cookie, ...own() }, body: '{}' }))
        .status,
    ).toBe(401)
  })
})

test('a login is asked by the page alone: without its header, or from elsewhere, it is refused and the code stays good', async () => {
  const code = codeOf(await link())
  const json = { 'content-type': 'application/json' }
  expect((await login(code, { ...json, origin: world.url })).status).toBe(403)
  expect((await login(code, { ...json, 'x-relay-page': '1' })).status).toBe(403)
  expect((await login(code, { ...own(), origin: 'http://evil.example' })).status).toBe(403)
  expect((await login(code)).status).toBe(204)
})

describe('the workspaces that a login opens', () => {
  const scoped = async (only?: boolean): Promise<string> => {
    const { url } = await control.call('page.link', { workspace: 'home', only }, `c${calls++}`)
    expect(new URL(url).pathname).toBe('/w/home/')
    return cookieOf(await login(codeOf({ url })))
  }
  const sessionIn = (cookie: string, workspace: string) =>
    fetch(`${world.url}/session?workspace=${workspace}`, { headers: { cookie } })

  test('are all of them, each by its name, also one that is made later', async () => {
    const cookie = await scoped()
    await world.daemon.open('app')
    expect(await (await sessionIn(cookie, 'app')).json()).toMatchObject({
      workspace: 'app',
      workspaces: ['app', 'home'],
    })
    const headers = { cookie, origin: world.url }
    expect(await hello(headers, '/ws?page=1&workspace=app')).toMatchObject({ payload: { workspace: 'app' } })
    expect(await hello(headers)).toMatchObject({ payload: { workspace: 'home' } })
    // None is made by being named.
    expect((await sessionIn(cookie, 'none')).status).toBe(401)
    expect(await hello(headers, '/ws?page=1&workspace=none')).toBe(401)
    expect(world.daemon.url && (await (await whoAmI(cookie)).json()).workspaces).toEqual(['app', 'home'])
  })
  test('are one alone where the link was made so, whatever is added to its cookie', async () => {
    await world.daemon.open('app')
    const cookie = await scoped(true)
    expect(await (await sessionIn(cookie, 'home')).json()).toMatchObject({ workspaces: ['home'] })
    const [name = '', value = ''] = cookie.split('=')
    const [id, until, nonce, signature] = value.split('.')
    const forged = `${name}=${id}.${until}.*${nonce}.${signature}`
    for (const each of [cookie, forged]) {
      expect((await sessionIn(each, 'app')).status).toBe(401)
      expect(await hello({ cookie: each, origin: world.url }, '/ws?page=1&workspace=app')).toBe(401)
    }
  })
  test('end together with a new key of the one that it was made for, and go on with a new key of another', async () => {
    await world.daemon.open('app')
    const cookie = await scoped()
    await control.call('workspace.rotate-key', { workspace: 'app' }, `c${calls++}`)
    expect((await sessionIn(cookie, 'app')).status).toBe(200)
    await control.call('workspace.rotate-key', { workspace: 'home' }, `c${calls++}`)
    for (const each of ['app', 'home']) expect((await sessionIn(cookie, each)).status).toBe(401)
  })
})

/** A page that is open; `ended` resolves to what it was told last, once its connection is over. */
async function openPage(cookie: string, workspace: string): Promise<{ ended: Promise<string>; isOver(): boolean }> {
  const path = `/ws?page=1&workspace=${workspace}`
  const ws = new WebSocket(world.url.replace('http', 'ws') + path, { headers: { cookie, origin: world.url } })
  let said = ''
  ws.on('open', () => ws.send(JSON.stringify({ v: 1, type: 'HELLO', id: 'h', ts: 0, payload: {} })))
  const greeted = new Promise<void>((resolve) =>
    ws.on('message', (data) => {
      said = String(data)
      resolve()
    }),
  )
  const ended = new Promise<string>((resolve) => ws.on('close', () => resolve(said)))
  await greeted
  expect(said).toContain('WELCOME')
  return { ended, isOver: () => ws.readyState !== WebSocket.OPEN }
}

test('the demo is for the page alone, and for a login that opens every workspace', async () => {
  const demo = (cookie: string, headers: Record<string, string> = own()) =>
    fetch(`${world.url}/demo`, { method: 'POST', headers: { ...headers, cookie } })
  const { url } = await control.call('page.link', { workspace: 'home', only: true }, `c${calls++}`)
  const one = cookieOf(await login(codeOf({ url })))
  const all = await loggedIn()
  expect((await demo('')).status).toBe(401)
  expect((await demo(one)).status).toBe(401)
  expect(await (await whoAmI(one)).json()).toMatchObject({ hasDemo: false })
  expect((await demo(all, { 'content-type': 'application/json' })).status).toBe(403)
  const played = await demo(all)
  const { workspace } = (await played.json()) as { workspace: string }
  expect(workspace).toMatch(/^demo-[0-9a-f]{4}$/)
  // Asked for twice, it plays once.
  expect(await (await demo(all)).json()).toEqual({ workspace })
})

test('the demo plays in the workspace of the page too, and nowhere else', async () => {
  const demo = (cookie: string, here: unknown) =>
    fetch(`${world.url}/demo`, { method: 'POST', headers: { ...own(), cookie }, body: JSON.stringify({ here }) })
  const { url } = await control.call('page.link', { workspace: 'home', only: true }, `c${calls++}`)
  expect((await demo(cookieOf(await login(codeOf({ url }))), 'home')).status).toBe(401)
  const all = await loggedIn()
  expect((await demo(all, 'nowhere')).status).toBe(401)
  expect(await (await demo(all, 'home')).json()).toEqual({ workspace: 'home' })
  const { workspaces } = await control.call('workspace.list', {}, `c${calls++}`)
  expect(workspaces.map(({ name }) => name)).toEqual(['home'])
})

test('the page is told the name under which its person types commands', async () => {
  const named = await HttpWorld.start({ ownName: '/opt/relay/agent-relay' })
  const to = await socketConnector(controlSocketPath(named.dir))({})
  try {
    const refused = await fetch(`${named.url}/session`)
    expect(await refused.json()).toMatchObject({ error: { details: { command: '/opt/relay/agent-relay dashboard' } } })
    const code = codeOf(await to.call('page.link', { workspace: 'home' }, 'c1'))
    const headers = { origin: named.url, 'x-relay-page': '1', 'content-type': 'application/json' }
    const entered = await fetch(`${named.url}/session`, { method: 'POST', headers, body: JSON.stringify({ code }) })
    const told = await fetch(`${named.url}/session`, { headers: { cookie: cookieOf(entered) } })
    expect(await told.json()).toMatchObject({ ownName: '/opt/relay/agent-relay' })
  } finally {
    await to.close()
    await named.stop()
  }
})

describe('a cookie ends, and with it every page that was opened by it', () => {
  const ask = (op: 'workspace.rotate-key' | 'workspace.remove', workspace: string) =>
    control.call(op, { workspace, force: true } as never, `c${calls++}`)

  test('with a logout of all', async () => {
    const cookie = await loggedIn()
    const page = await openPage(cookie, 'home')
    expect(await control.call('page.logout', {}, `c${calls++}`)).toEqual({ ended: 1 })
    expect(await page.ended).toContain('auth.revoked')
    expect((await whoAmI(cookie)).status).toBe(401)
  })
  test.each(['workspace.rotate-key', 'workspace.remove'] as const)(
    'with %s, also where it looks at another workspace',
    async (op) => {
      await world.daemon.open('app')
      await world.daemon.open('other')
      const { url } = await control.call('page.link', { workspace: 'app' }, `c${calls++}`)
      const [cookie, home] = [cookieOf(await login(codeOf({ url }))), await loggedIn()]
      const [own, elsewhere, stays] = await Promise.all([
        openPage(cookie, 'app'),
        openPage(cookie, 'other'),
        openPage(home, 'other'),
      ])
      await ask(op, 'app')
      expect(await elsewhere.ended).toContain('auth.revoked')
      await own.ended
      expect(await hello({ cookie, origin: world.url }, '/ws?page=1&workspace=other')).toBe(401)
      // The cookie of another workspace is as good as before.
      expect(stays.isOver()).toBe(false)
      expect(await hello({ cookie: home, origin: world.url }, '/ws?page=1&workspace=other')).toMatchObject({
        type: 'WELCOME',
      })
    },
  )
  test.each(['workspace.rotate-key', 'workspace.remove'] as const)(
    'and a code that was out before %s gives none',
    async (op) => {
      await world.daemon.open('app')
      const { url } = await control.call('page.link', { workspace: 'app' }, `c${calls++}`)
      await ask(op, 'app')
      expect((await login(codeOf({ url }))).status).toBe(401)
    },
  )
  test('between its look at the cookie and its HELLO, too', async () => {
    const cookie = await loggedIn()
    const ws = new WebSocket(`${world.url.replace('http', 'ws')}/ws?page=1`, { headers: { cookie, origin: world.url } })
    const answer = new Promise((resolve) => ws.on('message', (data) => resolve(String(data))))
    await new Promise((resolve) => ws.on('open', resolve))
    await ask('workspace.rotate-key', 'home')
    ws.send(JSON.stringify({ v: 1, type: 'HELLO', id: 'h', ts: 0, payload: {} }))
    expect(await answer).toContain('auth.revoked')
  })
  test('with a new key', async () => {
    const cookie = await loggedIn()
    await control.call('workspace.rotate-key', { workspace: 'home' }, `c${calls++}`)
    expect((await whoAmI(cookie)).status).toBe(401)
    expect((await whoAmI(await loggedIn())).status).toBe(200)
  })
})

test('codes last five minutes, cookies a month, and both are of this daemon alone', () => {
  const clock = new PlayClock()
  const dispatch = world.daemon.open('home')
  return dispatch.then(async ({ dispatch: home, entry }) => {
    const options = {
      served: { find: async () => ({ dispatch: home, release: () => {} }), names: () => ['home'] },
      clock,
      keyOf: () => world.key,
      human: 'kim',
    }
    const secretPath = `${world.dir}/other-secret`
    const logins = new PageLogin({ ...options, secretPath })
    const request = (value: string) =>
      ({ headers: { cookie: `a=b; agent_relay_7=${value}` }, socket: { localPort: 7 } }) as never
    const scope = { workspaceId: entry.id as string, isAll: false }
    const late = logins.newCode(scope).code
    clock.jumps(-3_600_000)
    await clock.passes(5 * 60_000)
    expect(logins.redeem(late)).toBeUndefined()
    const value = logins.redeem(logins.newCode(scope).code.toLowerCase())?.value as string
    expect(await logins.find(request(value))).toMatchObject({ human: 'kim' })
    // After a restart it is still good; for a daemon with another secret it never was.
    expect(await new PageLogin({ ...options, secretPath }).find(request(value))).toBeDefined()
    expect(await new PageLogin({ ...options, secretPath: `${world.dir}/third` }).find(request(value))).toBeUndefined()
    clock.jumps(31 * 24 * 3_600_000)
    expect(await logins.find(request(value))).toBeUndefined()
    // Given while the clock ran ten years ahead, it does not last for ten years.
    clock.jumps(-10 * 365 * 24 * 3_600_000)
    expect(await logins.find(request(value))).toBeUndefined()
  })
})

const page = fileURLToPath(new URL('../../dist/page/', import.meta.url))

describe('the files', () => {
  const asset = () => readdirSync(`${page}assets`)[0] as string

  test('come with a policy that allows nothing from elsewhere, nothing inline, and no frame', async () => {
    const response = await fetch(world.url)
    expect(response.status).toBe(200)
    const policy = response.headers.get('content-security-policy') as string
    for (const rule of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"])
      expect(policy).toContain(rule)
    expect(policy).not.toContain('unsafe')
    expect(response.headers.get('x-frame-options')).toBe('DENY')
    expect(response.headers.get('content-encoding')).toBe('gzip')
    expect((await fetch(`${world.url}/assets/${asset()}`)).headers.get('cache-control')).toContain('immutable')
  })
  test('the page is the same at the address of each workspace, and asked for again each time', async () => {
    const [root, inHome] = await Promise.all(['/', '/w/home/'].map((path) => fetch(world.url + path)))
    expect(await inHome?.text()).toBe(await root?.text())
    expect(inHome?.headers.get('cache-control')).toBe('no-cache')
    expect(inHome?.headers.get('content-security-policy')).toBe(root?.headers.get('content-security-policy'))
  })
  test.each([
    '/w/',
    '/w/home/x',
    '/assets/../index.html',
    '/assets/%2e%2e/index.html',
    '/index.html',
    '/assets/',
    '/assets/y.js',
  ])('and nothing else: %s', async (path) => {
    const response = await fetch(world.url + path)
    expect([404, 200]).toContain(response.status)
    if (response.status === 200) expect(new URL(response.url).pathname).toBe('/')
  })
})
