// The report of a spawn: an impossible start is refused with the fix, an early death shows its last screen, a dialog and an end are told.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isAlive } from '../../../../test/is-alive.ts'
import { aWhile, until } from '../../../../test/until.ts'
import { type ProjectConfigFile, projectConfig, trustConfig } from '../../src/machine/trust.ts'
import { scriptedAgent, WorkerWorld } from './worker-world.ts'

let world: WorkerWorld
beforeAll(async () => {
  world = await WorkerWorld.start()
})
afterAll(() => world.stop())

const spawn = (input: object) =>
  world.lead.call('worker.spawn', { name: 'Gus', cli: 'plain', cwd: world.root, ...input } as never)

test('a program that cannot be started is refused, and its name stays free', async () => {
  await expect(spawn({ cli: 'nope' })).rejects.toThrow('There is no CLI named "nope" here. There are scripted, plain')
  await expect(spawn({})).rejects.toThrow('plain needs a command to run')
  await expect(spawn({ command: ['no-such-program'] })).rejects.toThrow(
    'no-such-program is not on PATH, as the daemon has it. Give the path of its file',
  )
  await expect(spawn({ command: ['./no-such-file'] })).rejects.toThrow('./no-such-file is not a program that can')
  // Some CLIs take a value with a dash for an option: a model must not be the way to one.
  await expect(spawn({ command: ['sh'], model: '--yolo' })).rejects.toThrow('does not start with "-"')
  await expect(spawn({ command: ['sh'], cwd: '/no/such/place' })).rejects.toThrow(
    'There is no directory /no/such/place',
  )
  const { agents } = await world.lead.call('agent.list', {})
  expect(agents.map(({ name }) => name)).toEqual(['Lead'])
})

test('a spawn of a program that dies at once is answered with its exit code and its last screen', async () => {
  const dying = spawn({ command: ['sh', '-c', 'echo some last words; exit 7'], task: '## Say it\nThen go.' })
  await expect(dying).rejects.toThrow(
    /^Gus ended at once: its program ended with code 7\nIts last screen:\n {2}some last words/,
  )
  const { workers } = await world.lead.call('worker.list', { all: true })
  expect(workers[0]).toMatchObject({ name: 'Gus', status: 'exited', code: 7, task: 'Say it' })
})

test('a program that a signal ends has no exit code: 0 would read as success', async () => {
  await expect(spawn({ command: ['sh', '-c', 'kill -9 $$'] })).rejects.toThrow('its program was ended by signal 9')
  const [worker] = (await world.lead.call('worker.list', { all: true })).workers
  expect(worker).toMatchObject({ status: 'exited', reason: 'its program was ended by signal 9' })
  expect(worker).not.toHaveProperty('code')
})

test('a program without MCP is ready when its screen is quiet, and is told to answer on the command line', async () => {
  const log = world.logPath('Hal')
  await spawn({ name: 'Hal', command: [process.execPath, scriptedAgent, '--log', log], task: 'begin' })
  await until(() => world.submitted('Hal').length === 1)
  expect(world.submitted('Hal')[0]).toContain(`Report with: agent-relay send 'Lead' "…"\n</system-reminder>\nbegin`)
  expect(await world.told('Hal')).toEqual(['Worker "Hal" is ready.'])
  await world.lead.call('message.send', { to: 'Hal', body: 'exit 3' })
  await until(async () => (await world.status('Hal')) === 'exited')
  expect((await world.told('Hal')).at(-1)).toMatch(
    /^Worker "Hal" exited: its program ended with code 3\.\nIts last screen:\n {2}/,
  )
  // What was sent to the lead can be looked at again, by those who might look before, and stands in no event.
  const { text, exited } = await world.lead.call('worker.screen', { name: 'Hal' })
  expect(exited).toBe('Worker "Hal" has exited: its program ended with code 3')
  expect((await world.told('Hal')).at(-1)).toBe(
    `Worker "Hal" exited: its program ended with code 3.\nIts last screen:\n${text.replace(/^/gm, '  ')}`,
  )
  const last = text.split('\n').slice(-2).join('\n')
  expect(await world.lead.call('worker.screen', { name: 'Hal', lines: 2 })).toEqual({ text: last, exited })
  const status = { runs: ['Hal'] }
  expect((await world.lead.call('run.status', status)).runs[0]).toMatchObject({ preview: text.trimEnd() })
  const stranger = await world.client('Peeper')
  await expect(stranger.call('worker.screen', { name: 'Hal' })).rejects.toThrow('may be seen by Lead, who hired it')
  const asked = await Promise.all(
    ['Hal', 'Nil'].map(async (name) => (await stranger.call('run.status', { runs: [name] })).runs[0]),
  )
  expect(asked[0]).toEqual(JSON.parse(JSON.stringify(asked[1]).replaceAll('Nil', 'Hal')))
  expect((await stranger.call('event.list', { types: ['worker.*'], limit: 500 })).events).toEqual([])
  expect((await stranger.call('worker.list', { all: true })).workers).toEqual([])
  const { events } = await world.lead.call('event.list', { types: ['worker.changed'], limit: 500 })
  const ofHal = events.filter(({ fact }) => 'worker' in fact && fact.worker === 'Hal')
  expect(ofHal.at(-1)?.fact).toMatchObject({ status: 'exited', code: 3 })
  expect(JSON.stringify(events)).not.toContain(JSON.stringify(last))
})

test('an agent without MCP answers with the command line', async () => {
  const script = 'while read -r line; do agent-relay send Lead "from a shell"; done'
  await spawn({ name: 'Lou', command: ['sh', '-c', script] })
  const { id } = await world.lead.call('message.send', { to: 'Lou', body: 'answer me' })
  const answers = async () => (await world.lead.call('inbox.peek', { from: 'Lou' })).messages.map(({ body }) => body)
  await until(async () => (await answers()).length > 0)
  expect(await answers()).toEqual(['from a shell'])
  // Its call shows that it has come back from reading.
  const { receipts } = await world.lead.call('message.receipts', { message: id })
  expect(receipts[0]).toMatchObject({ agent: 'Lou', state: 'read', route: 'paste' })
  await world.lead.call('worker.release', { name: 'Lou' })
})

test('a program that does not read its input can still be paused and released', async () => {
  await spawn({ name: 'Max', command: ['sh', '-c', 'stty raw -echo; echo up; exec sleep 100'] })
  await until(() => world.isReady('Max'))
  await world.lead.call('message.send', { to: 'Max', body: 'x'.repeat(200_000) })
  await aWhile()
  const { worker } = await world.lead.call('worker.release', { name: 'Max' })
  expect(worker.status).toBe('exited')
})

test('an agent does not type into a dialog that the queue does not know yet', async () => {
  await world.hire('Eve')
  await world.lead.call('message.send', { to: 'Eve', body: 'dialog' })
  await until(async () => (await world.lead.call('worker.screen', { name: 'Eve' })).text.includes('May I?'))
  const typed = world.lead.call('worker.type', { name: 'Eve', data: 'y' })
  await expect(typed).rejects.toMatchObject({ code: 'person.required' })
  expect(world.log('Eve').filter(({ event }) => event === 'dialog-key')).toEqual([])
  await world.lead.call('worker.release', { name: 'Eve' })
})

test('a dialog is told to the parent, with the screen, and nothing is typed into it', async () => {
  await world.hire('Ida')
  await world.lead.call('message.send', { to: 'Ida', body: 'dialog' })
  await until(async () => (await world.status('Ida')) === 'blocked')
  expect((await world.told('Ida')).at(-1)).toMatch(/^Worker "Ida" is blocked: a dialog is open[\s\S]*May I\? Press y\./)
  await world.lead.call('message.send', { to: 'Ida', body: 'wait for me' })
  await aWhile(500)
  expect(world.log('Ida').filter(({ event }) => event === 'dialog-key')).toEqual([])
  const typed = world.lead.call('worker.type', { name: 'Ida', data: 'y' })
  await expect(typed).rejects.toMatchObject({ code: 'person.required' })
  await world.types('Ida', 'y')
  await until(() => world.submitted('Ida').length === 2)
  expect(world.submitted('Ida')[1]).toContain(': wait for me')
  await until(() => world.isReady('Ida'))
  await world.lead.call('worker.release', { name: 'Ida' })
})

test('arguments that bring MCP servers of their own are left as they are', async () => {
  const command = [process.execPath, scriptedAgent, '--log', world.logPath('Jim')]
  const config = join(world.root, 'own.json')
  writeFileSync(config, '{"mcpServers":{}}')
  const own = { name: 'Jim', cli: 'scripted', command, args: ['--mcp-config', config] }
  const { note } = await spawn(own)
  expect(note).toBe(
    'The arguments name MCP servers of their own, so the relay was not added: the worker has no tools of the relay.',
  )
  await world.lead.call('worker.release', { name: 'Jim' })
})

test('arguments from a project count once its configuration is trusted', async () => {
  const project = join(world.root, 'project')
  mkdirSync(join(project, '.relay'), { recursive: true })
  writeFileSync(
    join(project, '.relay', 'config.json'),
    JSON.stringify({ harness: { plain: { args: ['--from-config'] } } }),
  )
  const input = { command: ['sh', '-c', 'echo "$@"; sleep 20', 'sh'], args: ['--given'], cwd: project }
  const { note } = await spawn({ ...input, name: 'Pat' })
  expect(note).toContain('adds arguments, but is not trusted: agent-relay trust')
  const screen = (name: string) => world.lead.call('worker.screen', { name })
  const shown = (name: string) => until(async () => (await screen(name)).text !== '')
  await shown('Pat')
  expect(await screen('Pat')).toEqual({ text: '--given' })
  trustConfig(projectConfig(project, world.dataDir) as ProjectConfigFile, world.dataDir)
  expect((await spawn({ ...input, name: 'Quin' })).note).toBeUndefined()
  await shown('Quin')
  expect(await screen('Quin')).toEqual({ text: '--from-config --given' })
  await Promise.all(['Pat', 'Quin'].map((name) => world.lead.call('worker.release', { name })))
})

test('a process that hides its environment is ended with its process group', async () => {
  const file = join(world.root, 'hidden')
  // It ends politely, and what it leaves behind ignores the end of the terminal.
  const script = `trap 'exit 0' INT; (trap '' HUP INT TERM; exec env -i sleep 300) & echo $! > '${file}'; while :; do sleep 0.1; done`
  await spawn({ name: 'Rex', command: ['sh', '-c', script] })
  await until(() => existsSync(file) && readFileSync(file, 'utf8').endsWith('\n'))
  const pid = Number(readFileSync(file, 'utf8'))
  expect(isAlive(pid)).toBe(true)
  await world.lead.call('worker.release', { name: 'Rex' })
  expect(isAlive(pid)).toBe(false)
})

test('an Enter that was lost is pressed again, once', async () => {
  await world.hire('Kay', { args: ['--lose-enters', '1'] })
  await world.lead.call('message.send', { to: 'Kay', body: 'busy 300' })
  await until(() => world.submitted('Kay').length === 1)
  // What is sent next is typed after whatever was pressed again.
  await world.lead.call('message.send', { to: 'Kay', body: 'and now' })
  await until(() => world.submitted('Kay').some((text) => text.includes('and now')))
  expect(world.submitted('Kay')).toHaveLength(2)
  expect(world.log('Kay').filter(({ event }) => event === 'lost-enter')).toHaveLength(1)
  await world.lead.call('worker.release', { name: 'Kay' })
})
