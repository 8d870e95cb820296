// The way in for the page: a code that works once and not for long, a cookie that ends, and nobody else's page.

import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Link, type OutputOf, socketConnector } from '@agent-relay/sdk'
import { controlSocketPath } from '@agent-relay/sdk/discover'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { PageLogin } from '../src/wires/page-login.ts'
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
  expect(await (await whoAmI(cookieOf(first))).json()).toEqual({ workspace: 'home', agent: 'human', isOpen: false })
})

test('codes that are wrong, empty or no text are refused, and many wrong ones end those that are out', async () => {
  const good = codeOf(await link())
  for (const code of ['', 'AAAA-AAAA', 'x'.repeat(10_000)]) expect((await login(code)).status).toBe(401)
  for (let n = 0; n < 20; n++) await login(`AAAA-${String(n).padStart(4, '2')}`)
  expect((await login(good)).status).toBe(401)
  expect((await login(codeOf(await link()))).status).toBe(204)
})

test('wrong codes are counted anew once they have ended those that were out', async () => {
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

describe('a cookie ends', () => {
  test('with a logout of all, which ends open pages too', async () => {
    const cookie = await loggedIn()
    const ws = new WebSocket(`${world.url.replace('http', 'ws')}/ws?page=1`, { headers: { cookie, origin: world.url } })
    const said: string[] = []
    ws.on('open', () => ws.send(JSON.stringify({ v: 1, type: 'HELLO', id: 'h', ts: 0, payload: {} })))
    await new Promise<void>((resolve) =>
      ws.on('message', (data) => {
        said.push(String(data))
        resolve()
      }),
    )
    const closed = new Promise((resolve) => ws.on('close', resolve))
    expect(await control.call('page.logout', {}, `c${calls++}`)).toEqual({ ended: 1 })
    await closed
    expect(said.at(-1)).toContain('auth.revoked')
    expect((await whoAmI(cookie)).status).toBe(401)
  })
  test('with a new key', async () => {
    const cookie = await loggedIn()
    await control.call('workspace.rotate-key', { workspace: 'home' }, `c${calls++}`)
    expect((await whoAmI(cookie)).status).toBe(401)
    expect((await whoAmI(await loggedIn())).status).toBe(200)
  })
})

test('codes last five minutes, cookies a month, and both are of this daemon alone', () => {
  let now = 1_000_000
  const clock = { now: () => now, after: () => ({ cancel() {} }) }
  const dispatch = world.daemon.open('home')
  return dispatch.then(({ dispatch: home, entry }) => {
    const options = {
      worlds: { all: () => [home], home: () => 'home' },
      clock,
      keyOf: () => world.key,
      human: 'kim',
    }
    const secretPath = `${world.dir}/other-secret`
    const logins = new PageLogin({ ...options, secretPath })
    const request = (value: string) =>
      ({ headers: { cookie: `a=b; agent_relay_7=${value}` }, socket: { localPort: 7 } }) as never
    const late = logins.newCode(entry.id as string).code
    now += 5 * 60_000
    expect(logins.redeem(late)).toBeUndefined()
    const value = logins.redeem(logins.newCode(entry.id as string).code.toLowerCase())?.value as string
    expect(logins.find(request(value))).toMatchObject({ human: 'kim' })
    // After a restart it is still good; for a daemon with another secret it never was.
    expect(new PageLogin({ ...options, secretPath }).find(request(value))).toBeDefined()
    expect(new PageLogin({ ...options, secretPath: `${world.dir}/third` }).find(request(value))).toBeUndefined()
    now += 31 * 24 * 3_600_000
    expect(logins.find(request(value))).toBeUndefined()
  })
})

const page = fileURLToPath(new URL('../dist/page/', import.meta.url))

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
  test.each(['/assets/../index.html', '/assets/%2e%2e/index.html', '/index.html', '/assets/', '/assets/y.js'])(
    'and nothing else: %s',
    async (path) => {
      const response = await fetch(world.url + path)
      expect([404, 200]).toContain(response.status)
      if (response.status === 200) expect(new URL(response.url).pathname).toBe('/')
    },
  )
})
