// Contracts on a port that asks for nothing: a caller with the id of one may ask for it, end it and read its payload, under any name;
// on a port with a key the id alone gives no right.

import { request } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bearer, called, HttpWorld, type Json } from './http-world.ts'

let open: HttpWorld
let shut: HttpWorld
beforeAll(async () => {
  open = await HttpWorld.start({ isOpen: true })
  shut = await HttpWorld.start()
})
afterAll(async () => {
  await open?.stop()
  await shut?.stop()
})

/** As a client that adds nothing by itself. */
function get(address: string, headers: Record<string, string> = {}): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(address, { headers }, (answer) => {
      const parts: Buffer[] = []
      answer.on('data', (part: Buffer) => parts.push(part))
      answer.on('end', () => {
        const bytes = Buffer.concat(parts)
        const isPacked = answer.headers['content-encoding'] === 'gzip'
        resolve({ status: answer.statusCode ?? 0, text: String(isPacked ? gunzipSync(bytes) : bytes) })
      })
    })
    asked.on('error', reject)
    asked.end()
  })
}

const gzip = { 'accept-encoding': 'gzip' }
const payloadOf = (world: HttpWorld, id: string) => `${world.url}/api/agents/${id}/payload`

/** Without a credential or a name. */
async function asNobody(path: string, input: object): Promise<{ status: number; body: Json }> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(open.url + path, { method: 'POST', headers, body: JSON.stringify(input) })
  return { status: answer.status, body: (await answer.json()) as Json }
}

describe('on an open port', () => {
  /** A contract that a client gives which is called claude-desktop, and then goes. */
  async function given(): Promise<string> {
    const first = await open.client('2025', {}, { query: 'tools=agents', name: 'claude-desktop' })
    const { agent_id } = await called(first, 'agent_start', { contract: 'Count to three.', harness: 'external' })
    await first.close()
    return agent_id
  }

  test('a client that comes again has another name, and still asks, completes and reads by the id', async () => {
    const id = await given()
    const again = await open.client('2025', {}, { query: 'tools=agents', name: 'claude-desktop' })
    const [running] = await called(again, 'agent_status', { agent_ids: [id] })
    expect(running).toMatchObject({ agent_id: id, status: 'running' })
    const done = { agent_id: id, summary: 'three', payload: 'one two three' }
    expect(await called(again, 'agent_complete', done)).toMatchObject({ status: 'completed' })
    const [completed] = await called(again, 'agent_status', { agent_ids: [id] })
    expect(completed).toMatchObject({ status: 'completed', summary: 'three', payload_url: payloadOf(open, id) })
    expect(await get(completed.payload_url, gzip)).toEqual({ status: 200, text: 'one two three' })
    expect((await get(payloadOf(open, id))).status).toBe(406)
    await again.close()
  })

  test('a stranger stops it by the id, and 404 is the answer to what is not there', async () => {
    const id = await given()
    expect((await get(payloadOf(open, id), gzip)).status).toBe(404)
    expect((await get(payloadOf(open, 'run_0'), gzip)).status).toBe(404)
    const { status, body } = await asNobody(`/api/agents/${id}/stop`, {})
    expect([status, body.status]).toEqual([200, 'stopped'])
  })

  test('the name of its agent is no id, nobody is shown a list of them, and the contract stays with those it concerns', async () => {
    const id = await given()
    const { agent } = (await open.api('run.status', { runs: [id] }, bearer(open.key))).body.runs[0]
    const told = async (operation: string, input: object): Promise<Json> =>
      (await asNobody(`/api/${operation}`, input)).body
    expect((await told('run.status', { runs: [agent] })).runs[0].error).toMatch(/not found/)
    expect(JSON.stringify(await told('run.list', {}))).not.toContain(id)
    expect(JSON.stringify(await told('event.list', { since: 0, limit: 500 }))).not.toContain(id)
    expect((await told('run.contract', { run: id })).error.code).toBe('run.unknown')
    const { runs } = await told('run.status', { runs: [id], whole: true })
    expect(runs).toMatchObject([{ id, status: 'running' }])
    expect(JSON.stringify(runs)).not.toContain('Count to three')
  })

  test('what else nobody may do there stays so, whichever id they say', async () => {
    const id = await given()
    for (const input of [{ run: id, summary: 7 }, { run: '__proto__', summary: '' }, {}])
      expect((await asNobody('/api/run.complete', input)).status).toBeGreaterThanOrEqual(400)
    expect((await asNobody('/api/run.start', { again: id })).status).toBeGreaterThanOrEqual(400)
  })
})

test('on a port with a key the id alone opens nothing', async () => {
  const { id } = (await shut.api('run.start', { contract: 'x', harness: 'external' }, shut.as('Ada'))).body
  await shut.api('run.complete', { run: id, summary: '', payload: 'mine' }, shut.as('Ada'))
  expect((await get(payloadOf(shut, id), gzip)).status).toBe(401)
  const mallory = { authorization: `Bearer ${await shut.token('Mallory')}` }
  expect((await get(payloadOf(shut, id), { ...gzip, ...mallory })).status).toBe(404)
  expect((await shut.post(`/api/agents/${id}/stop`, {}, mallory)).status).toBe(404)
  const withKey = { authorization: `Bearer ${shut.key}` }
  expect(await get(payloadOf(shut, id), { ...gzip, ...withKey })).toEqual({ status: 200, text: 'mine' })
})
