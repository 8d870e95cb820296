// `daemon upgrade`: our build replaces a running one of the same version; sessions come back, and no daemon is stopped that could not be replaced.

import { execFileSync } from 'node:child_process'
import { cpSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RelayClient } from '@agent-relay/sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { aWhile } from '../../../../test/until.ts'
import { version, versionWithBuildId } from '../../src/machine/version.ts'
import { Database } from '../../src/store/database.ts'
import { World } from './cli-world.ts'

const ours = fileURLToPath(new URL('../../', import.meta.url))
let world: World
let former: string
const formerRelease = `${version}+f0f0f0f0f0f0`
const status = () => world.json<{ version: string; pid: number }>(['daemon', 'status'])
const begin = () =>
  execFileSync(process.execPath, [former, 'daemon', 'start', '--no-http'], {
    env: world.env as NodeJS.ProcessEnv,
    cwd: world.cwd,
    stdio: 'pipe',
  })

beforeAll(() => {
  world = new World()
  // Another installation: the same program and version, another build.
  const folder = world.directory('former')
  for (const name of ['bin', 'dist']) cpSync(join(ours, name), join(folder, name), { recursive: true })
  cpSync(join(ours, 'package.json'), join(folder, 'package.json'))
  writeFileSync(join(folder, 'dist', 'build-id'), 'f0f0f0f0f0f0\n')
  symlinkSync(join(ours, '../../node_modules'), join(world.root, 'node_modules'))
  former = join(folder, 'bin', 'agent-relay.cjs')
})
afterAll(() => world.close())

test('what this one cannot open is refused while the former daemon goes on', async () => {
  begin()
  await world.launch(['workspace', 'create', 'newer'])
  await world.launch(['workspace', 'close', 'newer'])
  const path = join(world.dataDir, 'projects', 'newer', 'relay.db')
  const set = (pragma: string) => {
    const database = new Database(path)
    const [found] = database.prepare('PRAGMA user_version').get() ?? []
    database.exec(`PRAGMA user_version = ${pragma}`)
    database.close()
    return String(found)
  }
  const found = set('9999')
  const { pid } = await status()
  const { code, stderr } = await world.launch(['daemon', 'upgrade', '--yes'])
  expect([code, stderr]).toEqual([78, expect.stringContaining('was written by a newer Agent Relay (schema 9999')])
  expect(await status()).toMatchObject({ version: formerRelease, pid })
  set(found)
})

test('workers that would end are named first', async () => {
  await world.launch(['spawn', 'Helper', '--command', 'sleep 600'])
  const { pid } = await status()
  const refused = await world.launch(['daemon', 'upgrade'])
  expect(refused.code).toBe(2)
  expect(refused.stderr).toContain('This worker ends with the daemon: Helper in app.')
  expect(await status()).toMatchObject({ version: formerRelease, pid })
})

test('the new one takes its place; a session comes back, and its calls run once', async () => {
  const client = new RelayClient({ cwd: world.cwd, env: world.env, agentName: 'Ann' })
  await client.connect()
  const acknowledged: string[] = []
  let isOver = false
  // Paced, so that the upgrade falls among them.
  const sends = (async () => {
    for (let i = 0; !isOver; i++) {
      await client.send('*', `number ${i}`)
      acknowledged.push(`number ${i}`)
      await aWhile(10)
    }
  })()
  const { code, stderr } = await world.launch(['daemon', 'upgrade', '--yes'])
  expect([code, stderr]).toEqual([0, expect.stringContaining(`runs agent-relay ${versionWithBuildId} (pid `)])
  expect(stderr).toContain('Ended with it: Helper in app.')
  expect(await status()).toMatchObject({ version: versionWithBuildId })
  isOver = true
  await sends
  await client.send('*', 'number last')
  acknowledged.push('number last')
  const { stdout } = await world.run(['workspace', 'export'])
  const bodies = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).body as string)
  const numbered = bodies.filter((body) => body.startsWith('number '))
  expect(numbered.toSorted()).toEqual(acknowledged.toSorted())
  expect(acknowledged.length).toBeGreaterThan(2)
  await client.disconnect()
  const again = await world.launch(['daemon', 'upgrade'])
  expect(again.stderr).toContain(`runs agent-relay ${versionWithBuildId} already`)
})
