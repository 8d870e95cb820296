// A search for a workspace while its daemon stops and starts finds it or finds no daemon: "closed" would end a client that waits to come back.

import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RelayError } from '@agent-relay/sdk'
import { findDaemon, socketPathOf } from '@agent-relay/sdk/internal/discover'
import { afterAll, expect, test } from 'vitest'
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

/** Takes its time to hang up, so that the stop takes as long. */
async function slowClient(): Promise<void> {
  const socket = connect({ path: socketPathOf(dataDir, 'app'), allowHalfOpen: true })
  socket.write(`${JSON.stringify({ t: 'hello', v: 1 })}\n`)
  await once(socket, 'data')
  socket.once('end', () => setTimeout(() => socket.end(), 200))
}
