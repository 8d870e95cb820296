// `/metrics`: the figures of a workspace for the holder of its key, as OpenMetrics writes them.

import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { controlSocketPath } from '@agent-relay/sdk/internal/discover'
import { makeIds, socketConnector } from '@agent-relay/sdk/wire'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { HttpWorld } from './http-world.ts'

const nextId = makeIds()
let world: HttpWorld
beforeAll(async () => {
  world = await HttpWorld.start({}, ['home', 'other'], { isMemory: false })
})
afterAll(() => world.stop())

const ask = (credential?: string, path = '/metrics') =>
  fetch(`${world.url}${path}`, credential === undefined ? {} : { headers: { authorization: `Bearer ${credential}` } })
const call = async (operation: string, body: object, credential = world.key, as?: string) => {
  const headers = { authorization: `Bearer ${credential}`, 'content-type': 'application/json' }
  const named: Record<string, string> = as === undefined ? {} : { 'x-relay-agent': as }
  const request = { method: 'POST', headers: { ...headers, ...named }, body: JSON.stringify(body) }
  return (await fetch(`${world.url}/api/${operation}`, request)).json() as Promise<Record<string, string>>
}

/** By name and labels, in the order of the answer. */
function samplesOf(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => {
      const [, name = '', value = ''] = /^(\w+(?:\{.*\})?) (\S+)$/.exec(line) ?? []
      return [name, Number(value)]
    }),
  )
}

test('it takes the key: neither nobody nor an agent is told', async () => {
  const { token } = await call('agent.register', { name: 'Ann' })
  expect((await ask()).status).toBe(401)
  expect((await ask('rk_none')).status).toBe(401)
  expect((await ask(token)).status).toBe(403)
  expect((await ask(world.key)).status).toBe(200)
})

test('it counts what was sent and how long commits took, of this workspace alone', async () => {
  const before = samplesOf(await (await ask(world.key)).text())
  await call('agent.register', { name: 'Bob' })
  for (let i = 0; i < 3; i++) await call('message.send', { to: '*', body: 'hello' }, world.key, 'Bob')
  const answer = await ask(world.key)
  expect(answer.headers.get('content-type')).toMatch(/^application\/openmetrics-text; version=1\.0\.0/)
  const text = await answer.text()
  expect(text.endsWith('\n# EOF\n')).toBe(true)
  const after = samplesOf(text)
  const grown = (name: string) => Number(after.get(name)) - Number(before.get(name))
  expect(grown('agent_relay_messages_total{workspace="home"}')).toBe(3)
  expect(grown('agent_relay_entries_total{workspace="home"}')).toBeGreaterThanOrEqual(4)
  const count = 'agent_relay_commit_seconds_count{workspace="home"}'
  expect(grown(count)).toBeGreaterThan(0)
  expect(after.get('agent_relay_commit_seconds_bucket{workspace="home",le="+Inf"}')).toBe(after.get(count))
  const names = [...after.keys()].join('\n')
  for (const name of ['agents', 'sessions', 'approvals', 'runs', 'file_bytes'])
    expect(names).toContain(`agent_relay_${name}{workspace="home"`)
  expect(names).toContain('agent_relay_file_bytes{workspace="home",file="archive"}')
  expect(names).toContain('agent_relay_event_loop_lag_seconds{percentile="99"}')
  expect(names).toContain('agent_relay_build_info{version="')
  expect(names).not.toContain('"other"')
})

test('one scrape has all workspaces that are open, for the key in the data directory, which opens nothing else', async () => {
  const path = join(world.dir, 'metrics-key')
  expect(statSync(path).mode & 0o777).toBe(0o600)
  const key = readFileSync(path, 'utf8').trim()
  const answer = await ask(key)
  expect(answer.status).toBe(200)
  const names = [...samplesOf(await answer.text()).keys()].join('\n')
  for (const workspace of ['home', 'other'])
    expect(names).toContain(`agent_relay_messages_total{workspace="${workspace}"}`)
  expect(names.match(/agent_relay_uptime_seconds/g)).toHaveLength(1)
  expect((await ask(`${key}x`)).status).toBe(401)
  expect((await ask(key, '/api/workspace.status')).status).not.toBe(200)
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const call = { method: 'POST', headers, body: '{}' }
  expect((await fetch(`${world.url}/api/workspace.status`, call)).status).toBe(401)
})

test('a key to all workspaces that cannot be read opens nothing, and closes nothing else', async () => {
  const path = join(world.dir, 'metrics-key')
  const key = readFileSync(path, 'utf8')
  rmSync(path)
  mkdirSync(path)
  expect((await ask(key.trim())).status).toBe(401)
  expect((await ask(world.key)).status).toBe(200)
  rmSync(path, { recursive: true })
  writeFileSync(path, key, { mode: 0o600 })
  expect((await ask(key.trim())).status).toBe(200)
})

test('its counters stay where they are when messages are pruned', async () => {
  await call('agent.register', { name: 'Solo' })
  await call('channel.create', { channel: '#alone' }, world.key, 'Solo')
  for (let i = 0; i < 5; i++) await call('message.send', { to: '#alone', body: `note ${i}` }, world.key, 'Solo')
  const before = samplesOf(await (await ask(world.key)).text())
  const link = await socketConnector(controlSocketPath(world.dir))({})
  // What was said within the last moment is not old yet.
  await until(
    async () => (await link.call('workspace.prune', { workspace: 'home', olderMs: 1 }, nextId('c'))).messages > 0,
  )
  await link.close()
  const after = samplesOf(await (await ask(world.key)).text())
  for (const name of ['messages_total', 'entries_total'])
    expect(after.get(`agent_relay_${name}{workspace="home"}`)).toBe(before.get(`agent_relay_${name}{workspace="home"}`))
  expect(after.get('agent_relay_file_bytes{workspace="home",file="archive"}')).toBeGreaterThan(0)
})

test('every sample has a value and belongs to the family before it', async () => {
  const text = await (await ask(world.key)).text()
  let family = ''
  for (const line of text.trimEnd().split('\n')) {
    if (line.startsWith('# TYPE ')) family = line.split(' ')[2] as string
    else if (!line.startsWith('#'))
      expect([line.startsWith(family), Number.isFinite(Number(line.split(' ').at(-1)))]).toEqual([true, true])
  }
})
