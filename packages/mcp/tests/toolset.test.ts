// What the tools cost every agent: the list as a host gets it, pinned word by word, and its size. A change here is read by every model.

import { Client } from '@modelcontextprotocol/client'
import { InMemoryTransport } from '@modelcontextprotocol/server'
import { expect, test } from 'vitest'
import { createServer, toolsOf } from '../src/index.ts'

async function listing() {
  const [near, far] = InMemoryTransport.createLinkedPair()
  const server = createServer({} as never, { version: '0' })
  await server.connect(far)
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(near)
  const list = await client.listTools()
  await client.close()
  return list.tools
}

test('names, descriptions and input schemas of toolset relay', async () => {
  const tools = await listing()
  const pinned = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }))
  expect(Buffer.byteLength(JSON.stringify(pinned))).toBeLessThanOrEqual(6_000)
  const bytes = Buffer.byteLength(JSON.stringify({ jsonrpc: '2.0', id: 0, result: { tools } }))
  // The README tells it.
  process.stdout.write(`toolset relay: ${bytes} bytes, about ${Math.round(bytes / 4)} tokens\n`)
  expect(bytes).toBeLessThanOrEqual(9_000)
  await expect(`${JSON.stringify(pinned, null, 2)}\n`).toMatchFileSnapshot('toolset-relay.snap')
})

test('names are short and plain, and every tool has a title, an output schema and all four hints', async () => {
  for (const { name, title, outputSchema, annotations } of await listing()) {
    expect(name).toMatch(/^[a-z0-9_]{1,32}$/)
    expect(title).toBeTruthy()
    expect(outputSchema?.type).toBe('object')
    expect(Object.keys(annotations ?? {}).sort()).toEqual([
      'destructiveHint',
      'idempotentHint',
      'openWorldHint',
      'readOnlyHint',
    ])
  }
})

test('the list is made once and stays as it is', async () => {
  expect(await listing()).toEqual(await listing())
})

test('toolsets by name, once each and in a fixed order; an unknown one is refused, naming those there are', () => {
  const names = (text?: string) => toolsOf(text).map(({ name }) => name)
  expect(names('relay, relay')).toEqual(names())
  expect(() => toolsOf('relay,nope')).toThrow(/^Unknown toolset: nope\. There are: relay/)
})
