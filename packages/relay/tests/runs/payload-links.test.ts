// The address of a payload, which carries a right of its own: its target, its users, its life, and the tool that reads a payload in pages.

import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PlayClock } from '../../../../test/plays/clock.ts'
import { bearer, called, HttpWorld, type Json, textOf } from '../wires/http-world.ts'

const clock = new PlayClock()
let world: HttpWorld
beforeAll(async () => {
  world = await HttpWorld.start({}, ['home', 'other'], { env: {}, clock })
})
afterAll(() => world.stop())

/** A run that has handed something over, and its address as the agent that asked for it is told. */
async function handedOver(payload: string, by = 'boss'): Promise<{ id: string; url: string }> {
  const { body } = await world.api('run.start', { contract: 'Write it.', harness: 'external' }, world.as(by))
  const done = await world.api('run.complete', { run: body.id, summary: 's', payload }, world.as(by))
  return { id: body.id, url: done.body.payloadUrl }
}

const get = (url: string, init: RequestInit = {}) => fetch(url, init)
const statusOf = async (url: string, init?: RequestInit) => (await get(url, init)).status

test('the address alone is enough, for this payload', async () => {
  const { id, url } = await handedOver('a b c')
  expect(url).toMatch(new RegExp(`^${world.url}/api/agents/${id}/payload\\?right=`))
  const answer = await get(url)
  expect([answer.status, await answer.text()]).toEqual([200, 'a b c'])
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
  expect(await statusOf(url, { headers: { 'accept-encoding': 'identity' } })).toBe(406)
  expect(await statusOf(url, { method: 'POST' })).toBe(401)
  // With a credential it is a request like any other: a wrong one is refused, a right one needs no link.
  expect(await statusOf(url, { headers: bearer('rk_wrong') })).toBe(401)
  expect(await statusOf(url.replace(/right=.*/, 'right=old'), { headers: world.as('boss') })).toBe(200)
})

test('the command that the how-to gives reads it, and has the address in no argument', async () => {
  const page = readFileSync(new URL('../../../../docs/how-to/give-a-contract.md', import.meta.url), 'utf8')
  const command = /`([^`]*\$PAYLOAD_URL[^`]*)`/.exec(page)?.[1] as string
  const { url } = await handedOver('from the shell')
  const folder = mkdtempSync(join(tmpdir(), 'curl-'))
  const curl = join(folder, 'curl')
  writeFileSync(curl, `#!/bin/sh\nPATH="\${PATH#*:}"\necho "$@" > '${folder}/args'\nexec curl "$@"\n`)
  chmodSync(curl, 0o755)
  const { PATH } = process.env
  // Not exported, as in the shell of an agent.
  const line = `PAYLOAD_URL='${url}'; ${command}`
  const { stdout } = await promisify(execFile)('sh', ['-c', line], { env: { PATH: `${folder}:${PATH}` } })
  expect(stdout).toBe('from the shell')
  expect(readFileSync(join(folder, 'args'), 'utf8')).toBe('-sS --compressed -K -\n')
  rmSync(folder, { recursive: true })
})

test('it opens nothing else, and a changed one nothing at all', async () => {
  const [one, two] = [await handedOver('one'), await handedOver('two')]
  const right = new URL(one.url).searchParams.get('right') as string
  const [workspace, until, signature] = right.split('.') as [string, string, string]
  expect(await statusOf(two.url.replace(/right=.*/, `right=${right}`))).toBe(403)
  const twist = (text: string) => `${text.slice(0, -1)}${text.endsWith('A') ? 'B' : 'A'}`
  const other = (await world.daemon.open('other')).dispatch.workspace.id
  for (const wrong of [
    `${workspace}.${until}.${twist(signature)}`,
    `${workspace}.${Number(until) + 1}.${signature}`,
    `${workspace}.${until}.`,
    `${workspace}.${until}`,
    `${workspace}..${signature}`,
    `${workspace}.${until}.${signature}.x`.replace(signature, ''),
    `w_none.${until}.${signature}`,
    `${other}.${until}.${signature}`,
    '',
    '.',
    `${'9'.repeat(5_000)}`,
  ])
    expect([wrong.slice(0, 90), await statusOf(one.url.replace(/right=.*/, `right=${wrong}`))]).toEqual([
      wrong.slice(0, 90),
      403,
    ])
  for (const path of [
    `/api/agents/${one.id}`,
    '/api/agents',
    '/mcp',
    '/api/run.payload',
    `/api/agents/${one.id}/payload`,
  ])
    expect([path, await statusOf(`${world.url}${path}${path.endsWith('payload') ? '' : `?right=${right}`}`)]).toEqual([
      path,
      401,
    ])
})

test('nobody who may not read the payload is given one, and it is written nowhere', async () => {
  const { id, url } = await handedOver('secret')
  const { body } = await world.api('run.status', { runs: [id] }, world.as('stranger'))
  expect(body.runs[0]).toEqual({ id, error: expect.stringContaining('not found') })
  // A look at the terminals of an agent is not one at what it hands over.
  expect((await world.api('workspace.set-policy', { terminal: { watcher: ['*'] } })).status).toBe(200)
  const watcher = bearer(await world.token('watcher'))
  const shown = (await world.api('run.status', { runs: [id] }, watcher)).body.runs[0]
  expect(shown).toMatchObject({ id, payloadSize: 6 })
  expect(shown.payloadUrl).toBeUndefined()
  const right = new URL(url).searchParams.get('right') as string
  const signature = right.split('.')[2] as string
  const files = readdirSync(world.dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  for (const file of files)
    expect(readFileSync(join(file.parentPath, file.name)).includes(signature), file.name).toBe(false)
  const events = (await world.api('event.list', { since: 0, limit: 500 })).body
  expect(JSON.stringify(events)).not.toContain(signature)
  expect(world.troubles).toEqual([])
})

test('it ends after ten minutes, with the key, and when the tokens of an agent are revoked', async () => {
  const { url } = await handedOver('a')
  clock.jumps(9 * 60_000)
  expect(await statusOf(url)).toBe(200)
  clock.jumps(61_000)
  expect(await statusOf(url)).toBe(403)
  const later = await handedOver('b')
  // Given while the clock ran ahead, it does not last.
  clock.jumps(-10 * 365 * 24 * 3_600_000)
  expect(await statusOf(later.url)).toBe(403)
  const next = await handedOver('c')
  expect(await statusOf(next.url)).toBe(200)
  await world.token('somebody')
  await world.api('agent.revoke', { name: 'somebody' })
  expect(await statusOf(next.url)).toBe(403)
})

test('agent_payload reads it in pages, whole, and cuts no character', async () => {
  const client = await world.client('2025', world.as('boss'))
  const text = `${'Zeile äöü 😀\n'.repeat(2_500)}Ende`
  const { id } = await handedOver(text)
  const bytes = Buffer.byteLength(text)
  const pages: string[] = []
  let offset: number | undefined = 0
  while (offset !== undefined) {
    const page = await textOf(client, 'agent_payload', { agent_id: id, offset })
    const [, from, to, of, more] = /^Bytes (\d+) to (\d+) of (\d+)\.(.*)\n\n/.exec(page) as RegExpExecArray
    expect([Number(from), Number(of)]).toEqual([offset, bytes])
    expect(Buffer.byteLength(page)).toBeLessThan(32 * 1024)
    pages.push(page.slice(page.indexOf('\n\n') + 2).replace(/^ {2}/gm, ''))
    offset = Number(to) < bytes ? Number(to) : undefined
    expect(more).toBe(
      offset === undefined ? ' This is its end.' : ` Next: agent_payload(agent_id="${id}", offset=${offset})`,
    )
  }
  expect(pages.length).toBeGreaterThan(3)
  expect(pages.join('')).toBe(text)
  const past = await textOf(client, 'agent_payload', { agent_id: id, offset: 10 * bytes })
  expect(past).toContain(`Bytes ${bytes} to ${bytes} of ${bytes}. This is its end.`)
  const stranger = await world.client('2025', world.as('stranger'))
  const refused: Json = await called(stranger, 'agent_payload', { agent_id: id }).catch((error) => error)
  expect(String(refused)).toContain('not found')
})
