// A daemon that a session started runs as long as an agent's session attends to it; programs do not keep it.

import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { socketPathOf } from '@agent-relay/sdk/internal/discover'
import { socketConnector } from '@agent-relay/sdk/wire'
import { expect, test } from 'vitest'
import { aWhile, until } from '../../../../test/until.ts'
import { Daemon } from '../../src/daemon/daemon.ts'
import { stopWhenUnattended } from '../../src/daemon/unattended-stop.ts'

test('it ends when the last session of an agent is gone, whatever programs are connected', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'attended-'))
  const stops: string[] = []
  const daemon = (await Daemon.start({
    dataDir,
    credentialsPath: join(dataDir, 'credentials.json'),
    onTrouble() {},
    onStop() {},
  })) as Daemon
  try {
    const { dispatch } = await daemon.open('home')
    const socketPath = socketPathOf(dataDir, 'home')
    const agent = connect(socketPath)
    const hello = { v: 1, type: 'HELLO', id: 'pipe', ts: 0, payload: { mcp: { pipe: 'p_12345678', name: 'Ann' } } }
    agent.write(`${JSON.stringify(hello)}\n`)
    await new Promise((resolve) => agent.once('data', resolve))
    const program = await socketConnector(socketPath)({ name: 'program' })
    const onStop = (reason: string) => void stops.push(reason)
    // From now on the agent is there at every look.
    const unwatch = stopWhenUnattended({ unattendedStopMs: 50, onStop }, () => [dispatch])
    await aWhile()
    const isKept = stops.length === 0
    agent.destroy()
    await until(() => stops.length > 0)
    unwatch()
    await program.close()
    expect([isKept, stops]).toEqual([true, ['asked']])
  } finally {
    await daemon.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
})
