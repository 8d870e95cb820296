// The HTTP port if nobody asked for one: the usual one, else the next free one, which is kept.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { RefusalError } from '../../src/core/refusal-error.ts'
import { Daemon } from '../../src/daemon/daemon.ts'
import { httpPortDefault, listenOnUsualPort, usualPort } from '../../src/machine/http-port.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'port-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

/** Listens on every port but these. */
const except =
  (...taken: number[]) =>
  async (port: number) => {
    if (taken.includes(port)) throw new RefusalError('port.taken', { port })
    return port
  }

test('the usual port is taken while it is free, and nothing is remembered', async () => {
  expect(await listenOnUsualPort(directory, except())).toBe(httpPortDefault)
  expect(usualPort(directory)).toBe(httpPortDefault)
})

test('the next free one is taken instead, and from then on', async () => {
  const [first, second] = [httpPortDefault, httpPortDefault + 1]
  expect(await listenOnUsualPort(directory, except(first, second))).toBe(first + 2)
  expect(usualPort(directory)).toBe(first + 2)
  expect(await listenOnUsualPort(directory, except())).toBe(first + 2)
  expect(await listenOnUsualPort(directory, except(first + 2))).toBe(first)
  expect(usualPort(directory)).toBe(first)
})

test('where none is free there is none, and what else goes wrong is told', async () => {
  const all = async (port: number) => Promise.reject(new RefusalError('port.taken', { port }))
  expect(await listenOnUsualPort(directory, all)).toBeUndefined()
  await expect(listenOnUsualPort(directory, () => Promise.reject(new Error('no address')))).rejects.toThrow(
    'no address',
  )
  writeFileSync(join(directory, 'http-port'), 'not a port')
  expect(usualPort(directory)).toBe(httpPortDefault)
})

test('a daemon runs while another program has the port', async () => {
  const server = createServer()
  // It may be taken already; both is as well.
  await new Promise((resolve) => server.once('error', resolve).listen(httpPortDefault, '127.0.0.1', () => resolve(0)))
  const credentialsPath = join(directory, 'credentials.json')
  const daemon = await Daemon.start({ dataDir: directory, credentialsPath, http: {}, onTrouble() {}, onStop() {} })
  try {
    expect(daemon?.url).toBe(`http://127.0.0.1:${usualPort(directory)}`)
    expect(usualPort(directory)).not.toBe(httpPortDefault)
    expect((await fetch(`${daemon?.url}/healthz`)).status).toBe(200)
  } finally {
    await daemon?.stop()
    server.close()
  }
})
