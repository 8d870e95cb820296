// The port itself: taken ones, free ones, its answer without a credential, and the modules that an unused one loads.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { isSocketAlive, socketPathOf } from '@agent-relay/sdk/internal/discover'
import { expect, test } from 'vitest'
import { freePort } from '../../../../test/free-port.ts'
import { aWhile, until } from '../../../../test/until.ts'
import { portOwner } from '../../src/machine/port-owner.ts'
import { HttpWorld } from './http-world.ts'

test('/healthz needs no credential and tells no more than the version', async () => {
  const world = await HttpWorld.start()
  const response = await fetch(`${world.url}/healthz`)
  expect(await response.json()).toEqual({ ok: true, version: expect.stringMatching(/^\d+\.\d+\.\d+/) })
  await world.stop()
})

test('/readyz says when the workspace that was asked for can be reached', async () => {
  const world = await HttpWorld.start({ home: 'home' }, [])
  try {
    const ready = async () => (await fetch(`${world.url}/readyz`)).status
    expect(await ready()).toBe(503)
    await world.daemon.open('other')
    expect(await ready()).toBe(503)
    const { entry } = await world.daemon.open('home')
    const response = await fetch(`${world.url}/readyz`)
    expect([response.status, await response.json()]).toEqual([200, { ok: true, version: expect.any(String) }])
    rmSync(entry.socketPath)
    expect(await ready()).toBe(503)
    expect((await fetch(`${world.url}/healthz`)).status).toBe(200)
  } finally {
    await world.stop()
  }
})

test('at the first 200 of /readyz a program finds the socket', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'ready-'))
  const launcher = fileURLToPath(new URL('../../bin/agent-relay.cjs', import.meta.url))
  const port = await freePort()
  const env = { ...process.env, HOME: directory, RELAY_DATA_DIR: directory, RELAY_PROJECT: 'home' }
  const up = spawn(process.execPath, [launcher, 'up', '--quiet', '--port', String(port)], { cwd: directory, env })
  const ended = once(up, 'exit')
  try {
    const isReady = () =>
      fetch(`http://127.0.0.1:${port}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      )
    // As often as it can be asked.
    while (!(await isReady())) await aWhile(1)
    expect(await isSocketAlive(socketPathOf(directory, 'home'))).toBe(true)
  } finally {
    up.kill('SIGINT')
    await ended
    rmSync(directory, { recursive: true, force: true })
  }
})

test('a taken port is named, with its owner and another to choose', async () => {
  const program =
    'require("node:http").createServer().listen(0,"127.0.0.1",function(){console.log(this.address().port)})'
  const other = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const port = Number(String((await once(other.stdout, 'data'))[0]))
    const owner = process.platform === 'linux' ? ` (pid ${other.pid}, ${portOwner(port)?.split(', ')[1]})` : ''
    await expect(HttpWorld.start({ port })).rejects.toMatchObject({
      message: `Port ${port} is taken by another program${owner}. Choose one: agent-relay up --port ${port + 1}`,
      refusal: { code: 'port.taken' },
    })
  } finally {
    other.kill()
  }
})

test.runIf(process.platform === 'linux')('the owner of a port that is a relay is called one', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'port-'))
  const launcher = fileURLToPath(new URL('../../bin/agent-relay.cjs', import.meta.url))
  const env = { PATH: process.env.PATH, HOME: directory, RELAY_DATA_DIR: join(directory, 'data'), RELAY_PORT: '0' }
  const other = spawn(process.execPath, [launcher, 'up', '--json'], {
    cwd: directory,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const over = once(other, 'exit')
  try {
    const [ready] = await once(createInterface({ input: other.stdout }), 'line')
    const { url } = JSON.parse(ready)
    expect(portOwner(Number(new URL(url).port))).toBe(`pid ${other.pid}, agent-relay`)
  } finally {
    other.kill()
    await over
    rmSync(directory, { recursive: true })
  }
})

test('a port that is taken on one of the two addresses is taken', async () => {
  const six = createServer().listen({ port: 0, host: '::1', ipv6Only: true })
  const isThere = await new Promise((resolve) =>
    six.once('listening', () => resolve(true)).once('error', () => resolve(false)),
  )
  if (!isThere) return
  const { port } = six.address() as { port: number }
  await expect(HttpWorld.start({ port })).rejects.toMatchObject({ refusal: { code: 'port.taken' } })
  six.close()
})

/** A daemon in a process of its own; `hook` sees what that process loads. */
async function startAlone(hook = '') {
  const program = `
    import { register } from 'node:module'
    import { mkdtempSync, rmSync } from 'node:fs'
    import { tmpdir } from 'node:os'
    const [, daemonUrl, hook] = process.argv
    if (hook) register('data:text/javascript,' + encodeURIComponent(hook))
    const { Daemon } = await import(daemonUrl)
    const dataDir = mkdtempSync(tmpdir() + '/relay-port-')
    const http = { port: 0, isOpen: true }
    const daemon = await Daemon.start({ dataDir, credentialsPath: dataDir + '/c.json', http, onTrouble() {}, onStop() {} })
    await daemon.open('home')
    console.log(daemon.url)
    process.stdin.resume().on('end', () => daemon.stop().then(() => rmSync(dataDir, { recursive: true })))
  `
  const daemon = new URL('../../dist/daemon/daemon.js', import.meta.url).href
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, daemon, hook], { stdio: 'pipe' })
  const url = String((await once(child.stdout, 'data'))[0]).trim()
  const stop = async () => {
    child.stdin.end()
    expect(await once(child, 'exit')).toEqual([0, null])
  }
  return { child, url, stop }
}

test('an unused port loads nothing; the first call loads the routes, and no MCP', async () => {
  const { child, url, stop } = await startAlone(`export async function resolve(name, context, next) {
    const found = await next(name, context)
    if (/node_modules.(hono|@hono|ws|@modelcontextprotocol)/.test(found.url)) process._rawDebug('loads ' + found.url)
    return found
  }`)
  let loaded = ''
  child.stderr.on('data', (text) => {
    loaded += text
  })
  await (await fetch(`${url}/healthz`)).text()
  await aWhile()
  expect(loaded).toBe('')
  const headers = { 'content-type': 'application/json' }
  await (await fetch(`${url}/api/agent.list`, { method: 'POST', headers, body: '{}' })).text()
  await until(() => loaded.includes('hono'))
  expect(loaded).not.toContain('modelcontextprotocol')
  await stop()
})
