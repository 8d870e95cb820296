// Runs by workers: a scripted agent that completes through its injected MCP server, one that ends by the marker, one that exits, one that is stopped.

import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type HarnessName, limits, type Run } from '@agent-relay/sdk/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { plainHarness } from '../../src/supervisor/harness/plain.ts'
import { scripted, scriptedAgent, WorkerWorld } from '../supervisor/worker-world.ts'

let world: WorkerWorld
let programs: string
let claudeLog: string
let go: string
beforeAll(async () => {
  programs = mkdtempSync(join(tmpdir(), 'relay-programs-'))
  claudeLog = join(programs, 'claude.log')
  program('fake-claude', `exec "${process.execPath}" "${scriptedAgent}" --log "${claudeLog}" "$@"`)
  go = join(programs, 'go')
  const goes = `while [ ! -e "${go}" ]; do sleep 0.1; done`
  program(
    'fake-gemini',
    `echo "I was told"; cat & ${goes}; printf "The tests pass.\\n[CONTRACT COMPLETE]\\n"; sleep 600`,
  )
  program('fake-codex', `echo starting; ${goes}; exit 3`)
  const { NODE_OPTIONS: _, ...env } = process.env
  const harnesses = [
    { ...scripted, name: 'claude', program: 'fake-claude' },
    { ...plainHarness, name: 'gemini', program: 'fake-gemini' },
    { ...plainHarness, name: 'codex', program: 'fake-codex' },
    { ...plainHarness, name: 'opencode', program: 'no-such-program', install: 'npm install -g no-such-program' },
  ]
  world = await WorkerWorld.start({ harnesses, env: { ...env, PATH: `${programs}:${env.PATH}` } })
})
afterAll(async () => {
  await world.stop()
  rmSync(programs, { recursive: true, force: true })
})

/** What has waited until it was ready to be told of goes on. */
async function goOn(...runs: Run[]): Promise<void> {
  for (const run of runs) await until(() => world.isReady(run.agent))
  writeFileSync(go, '')
}

function program(name: string, text: string): void {
  writeFileSync(join(programs, name), `#!/bin/sh\n${text}\n`)
  chmodSync(join(programs, name), 0o755)
}

const begin = (harness: HarnessName, contract: string): Promise<Run> =>
  world.lead.call('run.start', { contract, harness, cwd: world.root })
const status = async (id: string) => (await world.lead.call('run.status', { runs: [id] })).runs[0] as Run
const gone = (run: Run) => until(async () => (await world.status(run.agent)) === 'exited')
const ready = (run: Run) => `Worker "${run.agent}" is ready.`
const ended = async (id: string): Promise<Run> => {
  await until(async () => (await status(id)).status !== 'running')
  return status(id)
}

test('a worker completes its run through the MCP server it was given, and its program ends', async () => {
  const run = await begin('claude', 'Wait for a word.')
  expect(run).toMatchObject({ status: 'running', harness: 'claude', agent: `run-${run.id.slice(-6)}`, parent: 'Lead' })
  await until(() => world.isReady(run.agent))
  // As an id, the worker's name is as good as the run's.
  expect((await status(run.agent)).id).toBe(run.id)
  const args = JSON.stringify({ agent_id: run.id, summary: 'heard', payload: 'the word' })
  await world.lead.call('message.send', { to: run.agent, body: `call agent_complete ${args}` })
  expect(await ended(run.id)).toMatchObject({ status: 'completed', summary: 'heard', payloadSize: 8 })
  await gone(run)
  // Its end is told as the run's, and not again as its worker's.
  const end = `Run ${run.id} (${run.agent}) is completed: heard`
  expect(await world.toldOfRun(run)).toEqual([ready(run), end])
})

test('the marker on the screen of a worker completes the run; the one in its contract does not', async () => {
  const echoes = await begin('gemini', 'Say [CONTRACT COMPLETE] at the end.')
  const run = await begin('gemini', 'Run the tests.')
  await until(async () => /I was told/.test((await status(run.id)).preview ?? ''))
  await goOn(echoes, run)
  expect(await ended(run.id)).toMatchObject({
    status: 'completed',
    summary: expect.stringContaining('The tests pass.'),
  })
  // Its screen is looked at by a timer of its own.
  await until(async () => /The tests pass/.test((await status(echoes.id)).preview ?? ''))
  expect(await status(echoes.id)).toMatchObject({ status: 'running' })
  await world.lead.call('run.stop', { run: echoes.id })
  await gone(run)
  const end = /is completed: .*The tests pass\. \[CONTRACT COMPLETE\]$/
  expect(await world.toldOfRun(run)).toEqual([ready(run), expect.stringMatching(end)])
})

test('a program that exits or never starts ends the run with the reason', async () => {
  rmSync(go, { force: true })
  const [exits, absent] = [await begin('codex', 'Try.'), await begin('opencode', 'Try.')]
  await goOn(exits)
  const reason = 'The worker exited: its program ended with code 3.'
  expect(await ended(exits.id)).toMatchObject({
    status: 'stopped',
    stopReason: reason,
    preview: expect.stringMatching(/^starting/),
  })
  const fix = expect.stringMatching(/no-such-program is not on PATH[\s\S]*npm install -g no-such-program/)
  expect(await ended(absent.id)).toMatchObject({ status: 'stopped', stopReason: fix })
  const said = (words: RegExp) => expect.stringMatching(words)
  expect(await world.toldOfRun(exits)).toEqual([
    ready(exits),
    said(/is stopped: The worker exited: its program ended with code 3\.$/),
  ])
  expect(await world.toldOfRun(absent)).toEqual([said(/is stopped: no-such-program is not on PATH/)])
})

test('a contract of the greatest length arrives whole; when the parent stops the run, the worker is released', async () => {
  const contract = `${'Lorem "ipsum".\n'.repeat(limits.contractBytesMax / 15)}End.`.slice(-limits.contractBytesMax)
  const run = await begin('claude', contract)
  const submitted = () => {
    const lines = existsSync(claudeLog) ? readFileSync(claudeLog, 'utf8').split('\n').slice(0, -1) : []
    return lines.find((line) => line.includes('"submitted') && line.includes(run.id))
  }
  await until(() => submitted() !== undefined)
  const { text } = JSON.parse(submitted() as string)
  expect(text.endsWith(contract)).toBe(true)
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(limits.bodyBytesMax)
  expect(await world.lead.call('run.stop', { run: run.id })).toMatchObject({ status: 'stopped' })
  await gone(run)
  expect((await status(run.id)).stopReason).toBeUndefined()
  expect(await world.toldOfRun(run)).toEqual([ready(run)])
  // A worker of that name that carries out no run is told of as any other: somebody else releases it.
  await world.lead.call('worker.spawn', { name: run.agent, cli: 'gemini', cwd: world.root })
  const kim = await world.client('Kim', world.key)
  await kim.call('worker.release', { name: run.agent, reason: 'seen' })
  expect((await world.toldOfRun(run)).at(-1)).toMatch(/^Worker "run-\w+" exited.*: released: seen/)
})

test('when a worker waits at a dialog, its parent is told and the status of the run says so', async () => {
  const run = await begin('claude', 'Open a dialog.')
  await until(async () => (await status(run.id)).blocked !== undefined)
  const seen = { status: 'running', blocked: 'a dialog is open' }
  expect(await status(run.id)).toMatchObject(seen)
  expect((await world.lead.call('run.list', { status: 'running' })).runs[0]).toMatchObject({ id: run.id, ...seen })
  await until(async () => /scripted agent/.test((await status(run.id)).preview ?? ''))
  const blocked = `Worker "${run.agent}" is blocked: a dialog is open. A person has to answer it at the worker's terminal. relay_who shows when the worker goes on; to end it: relay_release(name="${run.agent}")`
  expect(await world.toldOfRun(run)).toEqual([ready(run), blocked])
  await world.lead.call('run.stop', { run: run.id })
  expect(await status(run.id)).not.toHaveProperty('blocked')
})

test('a person whose worker waits at a dialog is told the command', async () => {
  const pat = await world.client('Kim', world.key)
  await pat.call('agent.register', { name: 'Pat', type: 'human' })
  await pat.call('worker.spawn', { name: 'Dia', cli: 'claude', cwd: world.root, task: 'Open a dialog.' })
  const told = async () => (await pat.call('inbox.peek', {})).messages.map(({ body }) => body).join('\n')
  await until(async () => (await told()).includes('Worker "Dia" is blocked'))
  expect(await told()).toContain('a dialog is open. Somebody must look: agent-relay attach Dia')
  await pat.call('worker.release', { name: 'Dia' })
})

test('without a model the first CLI on PATH carries out a run for which none is named', async () => {
  const run = await world.lead.call('run.start', { contract: 'Wait for a word.', cwd: world.root }, { id: 'c_default' })
  const note = 'No model is configured here, so a worker carries it out: claude.'
  expect(run).toMatchObject({ harness: 'claude', status: 'running', note })
  const again = { contract: 'Wait for a word.', cwd: world.root }
  expect(await world.lead.call('run.start', again, { id: 'c_default' })).toEqual(run)
  await world.lead.call('run.stop', { run: run.id })
  // Who names a model means the loop.
  const named = await world.lead.call('run.start', { contract: 'x', model: 'some-model', cwd: world.root })
  expect(named).toMatchObject({ harness: 'loop', note: expect.stringMatching(/^No model .* it stops at once; /) })
  expect((await ended(named.id)).stopReason).toMatch(/^No model is configured/)
  const nowhere = world.lead.call('run.start', { contract: 'x', cwd: '/no/such/directory' })
  await expect(nowhere).rejects.toMatchObject({ code: 'directory.unknown' })
})

test('a worker that carries out no run is shown by its name', async () => {
  await world.lead.call('worker.spawn', { name: 'Ann', cli: 'gemini', cwd: world.root })
  const worker = await status('Ann')
  expect(worker).toMatchObject({ id: 'Ann', harness: 'gemini', status: expect.stringMatching(/ready|running/) })
  await until(async () => /I was told/.test((await status('Ann')).preview ?? ''))
  await world.lead.call('worker.release', { name: 'Ann' })
  expect(await status('Ann')).toMatchObject({ status: 'stopped', stoppedAt: expect.any(String) })
})
