// Hostile forms of Host and Origin on every route and upgrade, with a valid key each time: the guard alone must refuse them.

import { get } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HttpWorld, rawStatus } from './http-world.ts'

const page = 'https://page.example'
let world: HttpWorld
beforeAll(async () => {
  world = await HttpWorld.start({ allowOrigins: [page] })
})
afterAll(() => world.stop())

const upgrade = (protocol: string) =>
  `Connection: Upgrade\r\nUpgrade: ${protocol}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n`
const call = 'Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 2\r\n'

/** Method, path, and headers that would be answered well with a good Host. */
const routes: [method: string, path: string, headers: string, body?: string][] = [
  ['GET', '/healthz', ''],
  ['GET', '/readyz', ''],
  ['GET', '/metrics', ''],
  ['POST', '/mcp', call, '{}'],
  ['GET', '/mcp', 'Accept: text/event-stream\r\n'],
  ['DELETE', '/mcp', ''],
  ['GET', '/sse', 'Accept: text/event-stream\r\n'],
  ['POST', '/messages?sessionId=x', call, '{}'],
  ['POST', '/api/agent.list', call, '{}'],
  ['OPTIONS', '/api/agent.list', 'Access-Control-Request-Method: POST\r\n'],
  ['GET', '/ws', upgrade('websocket')],
  ['GET', '/pipe', upgrade('agent-relay-pipe')],
]

const good = (port: number) => `Host: 127.0.0.1:${port}\r\n`

/** Header lines in place of the good Host. */
function hostileForms(port: number): string[] {
  const hosts = [
    '',
    'Host:\r\n',
    ...[
      'evil.example',
      `evil.example:${port}`,
      `localhost.evil.example:${port}`,
      `127.0.0.1.evil.example:${port}`,
      `evil.example#localhost:${port}`,
      `localhost:${port}@evil.example`,
      `user@localhost:${port}`,
      `user:pass@127.0.0.1:${port}`,
      `localhost.:${port}`,
      `127.0.0.1.:${port}`,
      'localhost',
      '127.0.0.1',
      '[::1]',
      `localhost:${port + 1}`,
      `localhost:0${port}`,
      `localhost:${port}0`,
      `localhost:${port}, evil.example`,
      `localhost:${port}/`,
      `http://localhost:${port}`,
      `127.1:${port}`,
      `127.0.0.2:${port}`,
      `0.0.0.0:${port}`,
      `0x7f000001:${port}`,
      `2130706433:${port}`,
      `017700000001:${port}`,
      `[::ffff:127.0.0.1]:${port}`,
      `[0:0:0:0:0:0:0:1]:${port}`,
      `::1:${port}`,
      `LOCALHOST:${port}`,
      `loc\u00e1lhost:${port}`,
    ].map((host) => `Host: ${host}\r\n`),
    `${good(port)}Host: evil.example\r\n`,
    `Host: evil.example\r\n${good(port)}`,
  ]
  const origins = [
    'http://evil.example',
    'https://evil.example',
    'null',
    '',
    `https://localhost:${port}`,
    `http://localhost:${port}/`,
    `http://localhost:${port}.evil.example`,
    `http://localhost.evil.example:${port}`,
    `http://127.0.0.1.evil.example:${port}`,
    `http://evil.example/http://localhost:${port}`,
    `http://user@localhost:${port}`,
    `http://localhost:${port + 1}`,
    'http://localhost',
    `HTTP://LOCALHOST:${port}`,
    `http://localhost.:${port}`,
    `http://0.0.0.0:${port}`,
    `http://localhost:${port} http://evil.example`,
    `${page}.evil.example`,
    `${page}:8443`,
    'http://page.example',
    'file://',
    'chrome-extension://abcdefghijklmnop',
  ]
  return [
    ...hosts,
    ...origins.map((origin) => `${good(port)}Origin: ${origin}\r\n`),
    `${good(port)}Origin: ${page}\r\nOrigin: http://evil.example\r\n`,
  ]
}

describe.each(routes)('%s %s', (method, path, headers, body = '') => {
  const send = (lines: string, target = path) =>
    rawStatus(
      world.port,
      `${method} ${target} HTTP/1.1\r\n${lines}Authorization: Bearer ${world.key}\r\n${headers}\r\n${body}`,
    )

  test('every hostile form of the request is refused', async () => {
    const forms = hostileForms(world.port)
    expect(forms.length).toBeGreaterThanOrEqual(40)
    const answers = await Promise.all(forms.map(async (form) => [form, await send(form)] as const))
    // 403 from the guard, 400 where Node itself takes offence.
    expect(answers.filter(([, status]) => status !== 403 && status !== 400)).toEqual([])
  })

  test('a request target that names another host is refused', async () => {
    expect(await send(good(world.port), `http://evil.example${path}`)).toBe(403)
  })

  test('every good form passes the guard', async () => {
    const { port } = world
    const names = [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`]
    const forms = names.flatMap((name) => [
      `Host: ${name}\r\n`,
      `Host: ${name}\r\nOrigin: http://${name}\r\n`,
      `Host: ${name}\r\nOrigin: ${page}\r\n`,
    ])
    for (const form of forms) expect(await send(form)).not.toBe(403)
  })
})

test('CORS headers only for a listed origin', async () => {
  const ask = async (origin?: string) => {
    const headers: Record<string, string> = { authorization: `Bearer ${world.key}` }
    if (origin) headers.origin = origin
    return fetch(`${world.url}/healthz`, { headers })
  }
  expect((await ask()).headers.get('access-control-allow-origin')).toBeNull()
  expect((await ask('https://evil.example')).headers.get('access-control-allow-origin')).toBeNull()
  expect((await ask(page)).headers.get('access-control-allow-origin')).toBe(page)
  const preflight = await fetch(`${world.url}/api/agent.list`, { method: 'OPTIONS', headers: { origin: page } })
  expect(preflight.status).toBe(204)
  expect(preflight.headers.get('access-control-allow-headers')).toContain('authorization')
  const answer = await fetch(`${world.url}/api/agent.list`, {
    method: 'POST',
    headers: { origin: page, authorization: `Bearer ${world.key}`, 'content-type': 'application/json' },
    body: '{}',
  })
  expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, page])
})

test('both loopback addresses answer', async () => {
  const status = (host: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      get({ host, port: world.port, path: '/healthz' }, (answer) => resolve(answer.resume().statusCode)).on(
        'error',
        reject,
      )
    })
  expect(await status('127.0.0.1')).toBe(200)
  await status('::1').then(
    (code) => expect(code).toBe(200),
    // A machine without IPv6 has no ::1.
    (error) => expect(error.code).toMatch(/EADDRNOTAVAIL|EAFNOSUPPORT/),
  )
})

test('the address under which a browser outside sees the port is one of its names, and no other becomes one', async () => {
  const outside = await HttpWorld.start({ pageUrl: 'http://relay.test:9999' })
  try {
    const { port } = outside
    const status = (host: string, more = '') =>
      rawStatus(port, `GET / HTTP/1.1\r\nHost: ${host}\r\n${more}Connection: close\r\n\r\n`)
    expect(await status('relay.test:9999')).toBe(200)
    expect(await status('relay.test:9999', 'Origin: http://relay.test:9999\r\n')).toBe(200)
    expect(await status(`127.0.0.1:${port}`)).toBe(200)
    for (const host of [
      'relay.test',
      `relay.test:${port}`,
      'relay.test:99990',
      'evil.relay.test:9999',
      'localhost:9999',
    ])
      expect([host, await status(host)]).toEqual([host, 403])
    for (const origin of ['https://relay.test:9999', 'http://relay.test', 'http://evil.example'])
      expect([origin, await status('relay.test:9999', `Origin: ${origin}\r\n`)]).toEqual([origin, 403])
  } finally {
    await outside.stop()
  }
})
