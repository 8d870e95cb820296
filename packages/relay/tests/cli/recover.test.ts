// A killed daemon whose log is cut before the next start: the report of each command to the person, and `workspace recover`.

import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isAlive } from '../../../../test/is-alive.ts'
import { until } from '../../../../test/until.ts'
import { isDaemonRunning } from '../../src/daemon/inspect.ts'
import { journalEndPath, readEndFile } from '../../src/store/journal-end.ts'
import { World } from './cli-world.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world.close())

const databaseOf = (name: string) => join(world.dataDir, 'projects', name, 'relay.db')

/** A daemon that has stored these messages in `app`, and was killed. */
async function killedAfter(bodies: string[]): Promise<void> {
  const { pid } = await world.json<{ pid: number }>(['daemon', 'start'])
  for (const body of bodies) await world.run(['send', '*', body])
  process.kill(pid, 'SIGKILL')
  await until(() => !isDaemonRunning(world.dataDir))
}

const bodies = Array.from({ length: 12 }, (_, n) => `number ${n}`)
const gone =
  /app\/relay\.db is damaged \(its journal ends with entry \d+ of .*, but entry \d+ of .* was stored: \d+ entr(y is|ies are) gone\)/
const fix = 'To go on with what is left: agent-relay workspace recover app\n'

/** What the page is told when it opens. */
async function pageSession(workspace: string): Promise<{ faults: string[] }> {
  const url = new URL((await world.json<{ url: string }>(['dashboard', '--project', workspace])).url)
  const headers = { origin: url.origin, 'x-relay-page': '1', 'content-type': 'application/json' }
  const body = JSON.stringify({ code: url.searchParams.get('code') })
  const login = await fetch(`${url.origin}/session`, { method: 'POST', headers, body })
  const cookie = login.headers.get('set-cookie')?.split(';')[0] as string
  return (await fetch(`${url.origin}/session`, { headers: { cookie } })).json() as Promise<{ faults: string[] }>
}

function cutLog(): void {
  const log = `${databaseOf('app')}-wal`
  truncateSync(log, Math.floor(statSync(log).size * 0.8))
}

test('every command says what is gone, nothing is opened, and the files stay as they are', async () => {
  await killedAfter(bodies)
  cutLog()
  const files = () => ['', '-wal', '.end'].map((end) => readFileSync(databaseOf('app') + end).toString('latin1'))
  const before = files()
  for (const command of [['daemon', 'start'], ['up']]) {
    const { code, stderr } = await world.launch(command)
    expect([command, code, stderr]).toEqual([command, 78, expect.stringMatching(gone)])
    expect(stderr).toContain(fix)
  }
  const looked = await world.run(['doctor'])
  expect(looked.stdout).toMatch(/the database of workspace app is damaged: its journal ends with entry/)
  expect(looked.stdout).toContain('workspace recover app')

  // Somebody who starts it for something else is told too.
  const other = await world.run(['daemon', 'start', '--project', 'other'])
  expect([other.code, other.stderr]).toEqual([0, expect.stringMatching(gone)])
  expect(other.stderr).toContain('Workspace app is not open: ')
  for (const command of [
    ['status'],
    ['send', '*', 'more'],
    ['inbox'],
    ['workspace', 'open', 'app'],
    ['workspace', 'backup', join(world.root, 'b.tar')],
  ]) {
    const { code, stderr } = await world.run(command)
    expect([command, code, stderr]).toEqual([command, 78, expect.stringContaining(fix)])
  }
  expect((await world.run(['workspace', 'list'])).stdout).toMatch(/^app +damaged +see below/m)
  expect((await world.run(['daemon', 'status'])).stdout).toMatch(/^damaged +app$/m)
  expect((await pageSession('other')).faults).toEqual([expect.stringMatching(gone)])
  expect(files()).toEqual(before)
})

test('it goes on with what is left once a person has agreed, and keeps the files as they were', async () => {
  await killedAfter(bodies)
  cutLog()
  const last = readEndFile(databaseOf('app'))?.journal
  const unasked = await world.launch(['workspace', 'recover', 'app'])
  expect([unasked.code, unasked.stderr]).toEqual([
    2,
    expect.stringMatching(/^Workspace app: \d+ entr.* after number \d+, stored between .* and .*, (is|are) gone\.\n/),
  ])
  expect(unasked.stderr).toContain('To do it: agent-relay workspace recover app --yes')
  const before = ['', '-wal', '.end'].map((end) => readFileSync(databaseOf('app') + end).toString('latin1'))
  type Recovered = {
    kept: string
    gone: { after: { seq: number; ts: string }; through: { seq: number } }
    open: boolean
  }
  const recovered = await world.json<Recovered>(['workspace', 'recover', 'app', '--yes'])
  expect(recovered).toMatchObject({ gone: { through: { seq: last?.seq } }, open: false })
  const kept = ['', '-wal', '.end'].map((end) =>
    readFileSync(join(recovered.kept, `relay.db${end}`)).toString('latin1'),
  )
  expect(kept).toEqual(before)

  expect((await world.run(['daemon', 'start'])).code).toBe(0)
  const { seq } = await world.json<{ seq: number }>(['status'])
  expect(seq).toBeGreaterThanOrEqual(recovered.gone.after.seq)
  const left = (await world.run(['workspace', 'export'])).stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line).body)
  expect(left).toEqual(bodies.slice(0, left.length))
  expect(left.length).toBeLessThan(bodies.length)
  expect((await world.run(['send', '*', 'and on'])).code).toBe(0)
  expect((await world.run(['workspace', 'recover', 'app'])).stdout).toBe(
    'Workspace app has all that was stored in it. Nothing was changed.\n',
  )
})

test('a daemon that runs opens it at once', async () => {
  await killedAfter(bodies)
  cutLog()
  await world.run(['daemon', 'start', '--project', 'other'])
  const { code, stdout, stderr } = await world.run(['workspace', 'recover', 'app', '--yes'])
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^Workspace app goes on after entry \d+\.\n$/)])
  expect(stderr).toMatch(/The files as they were are kept: \S+damaged/)
  expect((await world.run(['status'])).code).toBe(0)
})

test('a log that was removed: what is left may be nothing', async () => {
  await killedAfter(bodies)
  for (const end of ['-wal', '-shm']) rmSync(databaseOf('app') + end)
  const { code, stderr } = await world.launch(['daemon', 'start'])
  expect([code, stderr]).toEqual([78, expect.stringMatching(/relay\.db(?: is damaged| has 0 bytes)/)])
})

test('the database of another workspace is not adopted: both are named', async () => {
  await killedAfter(bodies)
  const { pid } = await world.json<{ pid: number }>(['daemon', 'start', '--project', 'other'])
  await world.run(['daemon', 'stop'])
  // It has the files open until its process has ended.
  await until(() => !isAlive(pid))
  renameSync(databaseOf('app'), join(world.root, 'own.db'))
  rmSync(`${databaseOf('app')}-wal`, { force: true })
  copyFileSync(databaseOf('other'), databaseOf('app'))
  const { code, stderr } = await world.run(['workspace', 'recover', 'app', '--yes'])
  expect([code, stderr]).toEqual([
    78,
    expect.stringMatching(/is the database of workspace "other" \(w_\w+\), and its own is workspace "app" \(w_\w+\)/),
  ])
  expect(existsSync(journalEndPath(databaseOf('app')))).toBe(true)
  expect((await world.run(['workspace', 'recover', 'nobody', '--yes'])).stderr).toMatch(/No workspace "nobody"|nobody/)
})
