// A search for a workspace while its daemon stops and starts finds it or finds no daemon: "closed" would end a client that waits to come back.

import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RelayError } from '@agent-relay/sdk'
import { controlSocketPath, findDaemon, socketPathOf } from '@agent-relay/sdk/internal/discover'
import { socketConnector } from '@agent-relay/sdk/wire'
import { afterAll, expect, test } from 'vitest'
import { freePort } from '../../../../test/free-port.ts'
import { Daemon } from '../../src/daemon/daemon.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'relay-restart-'))
afterAll(() => rmSync(dataDir, { recursive: true, force: true }))

test('a workspace is never said to be closed while its daemon restarts', async () => {
  const initialWorkspaces = ['app', 'second', 'third']
  const options = {
    dataDir,
    credentialsPath: join(dataDir, 'credentials.json'),
    initialWorkspaces,
    onTrouble() {},
    onStop() {},
  }
  const heard = new Map<string, number>()
  let isOver = false
  const look = async () => {
    while (!isOver) {
      const where = { cwd: dataDir, env: { RELAY_DATA_DIR: dataDir }, project: 'app' }
      const said = await findDaemon(where).then(
        () => 'found',
        (error) => (error instanceof RelayError && error.code) || String(error),
      )
      heard.set(said, (heard.get(said) ?? 0) + 1)
      // A look that finds no socket file never leaves the microtasks.
      await new Promise(setImmediate)
    }
  }
  const looks = [look(), look(), look()]
  for (let i = 0; i < 5; i++) {
    const daemon = (await Daemon.start(options)) as Daemon
    await slowClient()
    await daemon.stop()
  }
  isOver = true
  await Promise.all(looks)
  expect([...heard.keys()].sort()).toEqual(['daemon.not-running', 'found'])
})

test('the port, which answers before all workspaces are open, refuses nobody who has a key or a login of one', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'relay-restart-'))
  const names = Array.from({ length: 12 }, (_, i) => `w${i}`)
  const http = { port: await freePort() }
  const options = { dataDir, credentialsPath: join(dataDir, 'credentials.json'), http, onTrouble() {}, onStop() {} }
  const start = async (initialWorkspaces: string[]) =>
    (await Daemon.start({ ...options, initialWorkspaces, human: 'kim' })) as Daemon
  const first = await start([])
  const { key } = await first.open('last')
  for (const name of names) await first.open(name)
  const control = await socketConnector(controlSocketPath(dataDir))({})
  const { url } = await control.call('page.link', { workspace: 'last' }, 'link')
  const { origin, searchParams } = new URL(url)
  const headers = { 'x-relay-page': '1', origin, 'content-type': 'application/json' }
  const body = JSON.stringify({ code: searchParams.get('code') })
  const login = await fetch(`${origin}/session`, { method: 'POST', headers, body })
  const cookie = (login.headers.get('set-cookie') as string).split(';')[0] as string
  await control.close()
  await first.stop()
  const starting = start([...names, 'last'])
  const ask = async (path: string, headers: Record<string, string>) => {
    for (;;) {
      const answer = await fetch(`http://127.0.0.1:${http.port}${path}`, { headers }).catch(() => undefined)
      if (answer) return answer.status
      await new Promise(setImmediate)
    }
  }
  const authorization = `Bearer ${key}`
  expect(
    await Promise.all([ask('/session', { cookie }), ask('/metrics', { authorization }), ask('/session', {})]),
  ).toEqual([200, 200, 401])
  await (await starting).stop()
  rmSync(dataDir, { recursive: true, force: true })
})

/** Takes its time to hang up, so that the stop takes as long. */
async function slowClient(): Promise<void> {
  const socket = connect({ path: socketPathOf(dataDir, 'app'), allowHalfOpen: true })
  socket.write(`${JSON.stringify({ t: 'hello', v: 1 })}\n`)
  await once(socket, 'data')
  socket.once('end', () => setTimeout(() => socket.end(), 200))
}
