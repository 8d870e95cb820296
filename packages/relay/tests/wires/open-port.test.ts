// The limits of an open port: a caller who gives a name there reads that agent's mail, but nothing of the programs that the agent started.

import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { plainHarness } from '../../src/supervisor/harness/plain.ts'
import { HttpWorld, type Json, textOf } from './http-world.ts'

const words = 'SECRET-OF-A-PROGRAM'
const root = realpathSync(mkdtempSync(join(tmpdir(), 'relay-open-port-')))
const program = join(root, 'claude')
const asBoss = { 'x-relay-agent': 'Boss' }
let world: HttpWorld
beforeAll(async () => {
  writeFileSync(program, `#!/bin/sh\necho ${words}\nsleep 60\n`)
  chmodSync(program, 0o755)
  world = await HttpWorld.start({ isOpen: true }, ['home'], {
    harnesses: [{ ...plainHarness, name: 'claude', program }, plainHarness],
  })
})
afterAll(async () => {
  await world.stop()
  rmSync(root, { recursive: true, force: true })
})

async function post(operation: string, input: unknown): Promise<Json> {
  const asked = { method: 'POST', headers: { 'content-type': 'application/json', ...asBoss } }
  return (await fetch(`${world.url}/api/${operation}`, { ...asked, body: JSON.stringify(input) })).json()
}

/** Every way to ask for what programs are, do and show. */
async function look(runs: string[]): Promise<string[]> {
  const asked: unknown[] = [
    (await post('event.list', { types: ['worker.*'] })).events,
    (await post('run.status', { runs })).runs,
    await post('event.list', { since: 0, types: ['agent.*', 'run.*', 'action.*', 'workspace.*'], limit: 500 }),
    await post('run.list', {}),
  ]
  for (const run of runs) asked.push(await (await fetch(`${world.url}/api/agents/${run}?agent=Boss`)).json())
  const client = await world.client('2025', asBoss, { query: 'tools=relay,agents' })
  asked.push(await textOf(client, 'agent_status', { agent_ids: runs }))
  return asked.map((answer) => JSON.stringify(answer))
}

test('on an open port nobody sees a worker by saying the name of its parent', async () => {
  await world.api('workspace.set-policy', { terminal: { Boss: ['*'] } })
  const hired = { name: 'Shown', cli: 'plain', command: ['sh', '-c', `echo ${words}; sleep 60`], cwd: root }
  expect((await world.api('worker.spawn', hired, world.as('Boss'))).status).toBe(200)
  const start = { contract: 'Go.', harness: 'claude', cwd: root }
  const run = (await world.api('run.start', start, world.as('Boss'))).body
  const runs = ['Shown', run.id, run.agent]
  const withKey = async () => JSON.stringify((await world.api('run.status', { runs }, world.as('Boss'))).body)
  await until(async () => (await withKey()).split(words).length === 4)
  const running = await look(runs)
  expect(running[0]).toBe('[]')
  expect(running[1]).toContain(run.id)
  for (const answer of running) expect(answer).not.toContain(words)
  // Nor what stood there last.
  await world.api('run.stop', { run: run.id }, world.as('Boss'))
  await world.api('worker.release', { name: 'Shown' }, world.as('Boss'))
  await until(async () => (await withKey()).includes('released'))
  expect((await withKey()).split(words).length).toBeGreaterThan(1)
  for (const answer of await look(runs)) expect(answer).not.toContain(words)
})

test('on an open port a run without a model says at once that it stops, and why no CLI carries it out', async () => {
  const run = await post('run.start', { contract: 'Go.' })
  expect(run).toMatchObject({ harness: 'loop', status: 'running' })
  expect(run.note).toMatch(
    /^No model is configured here, so it stops at once; its status says what is missing\. No program is started: on an open port only /,
  )
})

test('on an open port nobody learns what is on the disk by naming directories', async () => {
  const answers = ['/no/such', '/etc/passwd', '/', root, world.dir].map(async (cwd) => {
    const { error } = await post('run.start', { contract: 'Go.', cwd })
    return [error.code, error.message.replace(cwd, 'PATH')]
  })
  expect(new Set((await Promise.all(answers)).map((answer) => answer.join()))).toEqual(
    new Set([
      expect.stringMatching(
        /^directory.outside,PATH is not a directory inside the project, .* has no directory yet\. Open it /,
      ),
    ]),
  )
})
