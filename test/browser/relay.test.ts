// The SDK's bundle in a real page: headless Chromium, an origin that the daemon lets in and one that it does not.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { HttpWorld } from '../../packages/relay/tests/wires/http-world.ts'
import { connectRelay, type Relay } from '../../packages/sdk/src/index.ts'
import { guardMs } from '../guard.ts'
import { found, inChromium } from './chromium.ts'

const executablePath = found.path
const bundle = async (): Promise<string> => {
  const entryPoints = [fileURLToPath(new URL('../../packages/sdk/src/browser.ts', import.meta.url))]
  const made = await build({ entryPoints, bundle: true, platform: 'browser', globalName: 'sdk', write: false })
  return made.outputFiles[0]?.text ?? ''
}

/** A page and the bundle, as any web server would give them. */
async function serve(script: string): Promise<{ server: Server; origin: string }> {
  const server = createServer(({ url }, response) => {
    const isScript = url === '/sdk.js'
    response.writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'text/html' })
    response.end(isScript ? script : '<!doctype html><title>a page</title><script src="/sdk.js"></script>')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

describe.skipIf(executablePath === undefined)(inChromium, () => {
  let browser: Browser
  let page: Page
  let stranger: Page
  let world: HttpWorld
  let node: Relay
  const servers: Server[] = []
  const troubles: string[] = []

  beforeAll(async () => {
    const script = await bundle()
    const [known, unknown] = [await serve(script), await serve(script)]
    servers.push(known.server, unknown.server)
    world = await HttpWorld.start({ allowOrigins: [known.origin] })
    node = await connectRelay({ name: 'Node', key: world.key, url: world.url })
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
    page = await browser.newPage()
    page.setDefaultTimeout(guardMs)
    page.on('pageerror', (error) => troubles.push(error.message))
    await page.goto(known.origin)
    stranger = await browser.newPage()
    stranger.setDefaultTimeout(guardMs)
    await stranger.goto(unknown.origin)
  })
  afterAll(async () => {
    await browser?.close()
    await node?.close()
    await world?.stop()
    for (const server of servers) server.close()
  })

  it('connects with the key, sends, receives, and calls an action', async () => {
    await node.actions.register({
      name: 'math.add',
      description: 'Adds two numbers.',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      handler: ({ a, b }) => a + b,
    })
    const answering = (async () => {
      for await (const message of node.inbox) {
        await node.messages.reply(message, `heard: ${message.body}`)
        return
      }
    })()
    const found = await page.evaluate(inThePage, { url: world.url, key: world.key })
    await answering
    expect(found).toEqual({
      name: 'Page',
      received: 'heard: hello from a page',
      sum: { ok: true, output: 5 },
      event: 'hello from a page',
      unread: 0,
    })
    expect(troubles).toEqual([])
  })

  it('is not let in from an origin that is not on the list', async () => {
    const code = await stranger.evaluate(
      async ({ url, key }) => {
        return (globalThis as unknown as InPage).sdk.connectRelay({ url, key }).then(
          () => 'let in',
          (error: { code: string }) => error.code,
        )
      },
      { url: world.url, key: world.key },
    )
    expect(code).toBe('connection.lost')
  })
})

/** What the page's script left there. */
type InPage = { sdk: typeof import('../../packages/sdk/src/browser.ts') }

/** Runs in the page: nothing of this file is known there. */
async function inThePage({ url, key }: { url: string; key: string }) {
  const relay = await (globalThis as unknown as InPage).sdk.connectRelay({ url, key, name: 'Page' })
  const done = new AbortController()
  await relay.messages.send('Node', 'hello from a page')
  let received = ''
  for await (const message of relay.inbox.follow({ signal: done.signal })) {
    received = message.body
    done.abort()
  }
  const { ok, ...result } = await relay.actions.invoke('math.add', { a: 2, b: 3 })
  let event: string | undefined
  for await (const { message } of relay.events.follow({ since: 0, types: ['message.created'] })) {
    event = message?.body
    break
  }
  const { total: unread } = await relay.inbox.count()
  const name = relay.name
  await relay.close()
  return { name, received, sum: { ok, output: (result as { output?: unknown }).output }, event, unread }
}
