// An agent remains one after its connection or the daemon has ended: while its program lives, it is refused what only a person may ask.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { controlSocketPath, socketPathOf } from '@agent-relay/sdk/internal/discover'
import { makeIds, socketConnector } from '@agent-relay/sdk/wire'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { Daemon } from '../../src/daemon/daemon.ts'

const id = makeIds()
let dataDir: string
let daemon: Daemon | undefined
beforeEach(() => {
  dataDir = realpathSync(mkdtempSync(join(tmpdir(), 'relay-hosts-')))
})
afterEach(async () => {
  await daemon?.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

const start = async () => {
  daemon = await Daemon.start({
    ...{ dataDir, credentialsPath: join(dataDir, 'credentials.json'), initialWorkspaces: ['home'] },
    onTrouble: (error) => {
      throw error
    },
    onStop: () => {},
  })
}
/** As a program that says nothing of itself. */
const person = async () => {
  const link = await socketConnector(controlSocketPath(dataDir))({})
  const code = await link.call('daemon.person', {}, id('c')).then(
    () => 'ok',
    (error) => error.code,
  )
  await link.close()
  return code
}
const path = () => join(dataDir, 'agent-hosts.json')

test('a host is remembered until its process is gone, also by the next daemon', async () => {
  await start()
  expect(await person()).toBe('ok')
  const host = spawn('sh', ['-c', 'read line'])
  const gone = once(host, 'close')
  const link = await socketConnector(socketPathOf(dataDir, 'home'))({ name: 'Ann', host: host.pid })
  expect(await person()).toBe('person.required')
  // It ends its own MCP server.
  await link.close()
  const { workspace } = (await daemon?.open('home')) ?? {}
  await until(() => workspace?.sessions.ofAgent('Ann').size === 0)
  expect(await person()).toBe('person.required')
  expect(statSync(path()).mode & 0o777).toBe(0o600)
  await daemon?.stop()
  await start()
  expect(await person()).toBe('person.required')
  host.kill('SIGKILL')
  await gone
  expect(await person()).toBe('ok')
})

test.each(['', 'no json', '{}', '[null,1,{"pid":1}]'])('a file that holds %j is passed over', async (text) => {
  writeFileSync(path(), text)
  await start()
  expect(await person()).toBe('ok')
})

test.skipIf(process.platform !== 'linux')('another process of the same number is not it', async () => {
  const one = { pid: process.pid, startedAt: '1', workspace: 'home', agent: 'Ann' }
  writeFileSync(path(), JSON.stringify([one]))
  await start()
  expect(await person()).toBe('ok')
})
