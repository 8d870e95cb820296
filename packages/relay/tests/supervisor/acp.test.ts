// A scripted ACP agent, in a process of its own, that misbehaves: its output is bounded, each of its requests is answered
// once, and nothing of it is left behind. Its prompts are in acp-prompts.test.ts.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { until } from '../../../../test/until.ts'
import { projectConfig, trustConfig } from '../../src/machine/trust.ts'
import { waitingPermissionsMax } from '../../src/supervisor/control/acp-permissions.ts'
import { acpLineBytesMax } from '../../src/supervisor/control/acp-wire.ts'
import { acpHarness } from '../../src/supervisor/harness/acp.ts'
import { copilotHarness } from '../../src/supervisor/harness/copilot.ts'
import { geminiHarness } from '../../src/supervisor/harness/gemini.ts'
import type { Harness } from '../../src/supervisor/harness/harness.ts'
import { plainHarness } from '../../src/supervisor/harness/plain.ts'
import { acpAgent, both, carrying, scripted, WorkerWorld } from './worker-world.ts'

/** One that takes MCP servers over HTTP alone, as Copilot does. */
const overHttp: Harness = { ...acpHarness, name: 'over-http', acp: { ...both.acp, mcp: 'http' } as Harness['acp'] }

interface Message {
  method?: string
  params?: unknown
  result?: unknown
}

let world: WorkerWorld
beforeAll(async () => {
  world = await WorkerWorld.start({
    harnesses: [scripted, plainHarness, acpHarness, both, overHttp],
    http: { port: 0 },
  })
})
afterAll(() => world.stop())

const command = (name: string, ...args: string[]) => [process.execPath, acpAgent, '--log', world.logPath(name), ...args]
const hire = async (name: string, ...args: string[]) => {
  const input = { name, cli: 'acp', command: command(name, ...args), cwd: world.root }
  const { worker } = await world.lead.call('worker.spawn', input)
  await until(() => world.isReady(name))
  return worker
}
const send = async (to: string, body: string) => (await world.lead.call('message.send', { to, body })).id
const events = (name: string, event: string) => world.log(name).filter((each) => each.event === event)
const screen = async (name: string) => (await world.lead.call('worker.screen', { name, lines: 500 })).text
const type = (name: string, data: string) => world.types(name, data)
const closed = async (name: string) => {
  const { workspace } = await world.daemon.open('home')
  const { events } = await world.lead.call('event.list', { types: ['approval.closed'], limit: 1000 })
  expect(workspace.approvals.hasOpen(name)).toBe(false)
  const facts = events.map(({ fact }) => fact as { agent?: string; how?: string; kind?: string })
  return facts.filter(({ agent }) => agent === name)
}
const release = (name: string) => world.lead.call('worker.release', { name })

test('unknown methods are refused, garbage and what is too long are passed over, and the turn goes on', async () => {
  await hire('Odd')
  await send('Odd', 'unknown garbage say after')
  await until(async () => (await world.status('Odd')) === 'idle' && (await screen('Odd')).includes('end_turn'))
  expect(events('Odd', 'unknown').map(({ code }) => code)).toEqual([-32601, -32601, -32601, -32601])
  expect(await screen('Odd')).toContain('(not ACP) not json')
  expect(await screen('Odd')).toContain('12 tokens in and 3 out')
  await send('Odd', 'big 10000000 say still')
  await until(async () => (await screen('Odd')).includes('still'))
  await send('Odd', `huge ${acpLineBytesMax + 1}`)
  await until(() => events('Odd', 'huge').length === 1)
  expect(events('Odd', 'huge')[0]?.text).toContain(String(acpLineBytesMax))
  await release('Odd')
})

test('of a thousand permissions at once each is answered once, and no more than a hundred wait', async () => {
  await hire('Many')
  await send('Many', 'ask 1000 rm')
  await until(() => events('Many', 'permission').length === 1000 - waitingPermissionsMax)
  expect(new Set(events('Many', 'permission').map(({ outcome }) => outcome))).toEqual(new Set(['no']))
  await until(async () => (await world.status('Many')) === 'blocked')
  expect(await screen('Many')).toContain('It wants to run: rm')
  await type('Many', '1\r')
  await until(() => events('Many', 'permission').length === 1001 - waitingPermissionsMax)
  await type('Many', '9\r')
  // Ctrl-C ends the turn, and with it all that wait.
  await type('Many', '\x03')
  await until(() => events('Many', 'permission').length === 1000)
  expect(events('Many', 'permission').filter(({ outcome }) => outcome === 'yes-once')).toHaveLength(1)
  expect(events('Many', 'permission').filter(({ outcome }) => outcome === 'cancelled')).toHaveLength(
    waitingPermissionsMax - 1,
  )
  expect(events('Many', 'answered-twice')).toEqual([])
  expect(events('Many', 'cancel')).toHaveLength(1)
  await until(async () => (await closed('Many').catch(() => [])).length === waitingPermissionsMax)
  const hows = (await closed('Many')).map(({ how }) => how)
  expect(hows.filter((how) => how === 'terminal')).toHaveLength(1)
  expect(hows.filter((how) => how === 'cancelled')).toHaveLength(waitingPermissionsMax - 1)
  await release('Many')
})

test('our own tools are allowed by themselves, and a command that is called like one is not', async () => {
  await hire('Own')
  await send('Own', 'ask 1 mcp__agent_relay__relay_send')
  await until(async () => (await world.status('Own')) === 'blocked')
  await type('Own', '3\r')
  await until(() => events('Own', 'permission').length === 1)
  expect(events('Own', 'permission')[0]?.outcome).toBe('no')
  const call = { id: 't', title: 'mcp__agent-relay__relay_send' }
  expect(acpHarness.acp?.isOwnTool({ ...call, kind: 'other' })).toBe(true)
  expect(acpHarness.acp?.isOwnTool({ ...call, kind: 'execute' })).toBe(false)
  expect(acpHarness.acp?.isOwnTool({ ...call, title: `${call.title}; rm -rf .`, kind: 'other' })).toBe(false)
  const ours = { id: 'mcp_agent-relay_relay_send__1', title: 'relay_send (agent-relay MCP Server)', kind: 'other' }
  expect(geminiHarness.acp?.isOwnTool(ours)).toBe(true)
  // A tool of another server whose model has given it such a parameter `command`.
  expect(geminiHarness.acp?.isOwnTool({ ...ours, id: 'mcp_other_run__1' })).toBe(false)
  expect(copilotHarness.acp?.mcp).toBe('http')
  await release('Own')
})

test('a permission is allowed or denied from the queue, and one that is answered there is not asked any more', async () => {
  await hire('Queued')
  await send('Queued', 'ask 1 touch')
  await until(async () => (await world.status('Queued')) === 'blocked')
  const { approvals } = await world.lead.call('approval.list', {})
  expect(approvals.filter(({ agent }) => agent === 'Queued')).toMatchObject([
    { vendor: 'acp', tool: 'execute', input: 'touch', directory: world.root },
  ])
  expect(approvals.at(-1)?.choices.map(({ kind }) => kind)).toEqual(['allow', 'other', 'deny'])
  await expect(world.lead.call('worker.type', { name: 'Queued', data: '1\r' })).rejects.toThrow(/person/)
  await world.answers('Queued', '1')
  await until(() => events('Queued', 'permission').length === 1)
  await until(async () => (await world.status('Queued')) === 'idle')
  await send('Queued', 'ask 1 bareword')
  await until(async () => (await world.status('Queued')) === 'blocked')
  await world.answers('Queued', '3')
  await until(() => events('Queued', 'permission').length === 2)
  expect(events('Queued', 'permission').map(({ outcome }) => outcome)).toEqual(['yes-once', 'no'])
  await type('Queued', '1\r')
  await until(() => world.submitted('Queued').includes('1'))
  expect((await closed('Queued')).map(({ how, kind }) => [how, kind])).toEqual([
    ['answered', 'allow'],
    ['answered', 'deny'],
  ])
  await release('Queued')
})

test('a command is shown with everything that changes what it does', async () => {
  await hire('Loose')
  await send('Loose', 'ask 1 loosened')
  await until(async () => (await world.status('Loose')) === 'blocked')
  const { approvals } = await world.lead.call('approval.list', {})
  expect(approvals.find(({ agent }) => agent === 'Loose')?.input).toBe('loosened\n{"sandbox":"off"}')
  await world.answers('Loose', '3')
  await until(() => events('Loose', 'permission').length === 1)
  await release('Loose')
})

test('a person types a line: it goes to an idle agent at once, and to a busy one after its turn', async () => {
  await hire('Typed')
  await type('Typed', 'say hel\x7flo\r')
  await until(() => world.submitted('Typed').length === 1)
  expect(world.submitted('Typed')[0]).toBe('say helo')
  await type('Typed', '\x1b[200~hang\nplease\x1b[201~\r')
  await until(() => world.submitted('Typed').length === 2)
  expect(world.submitted('Typed')[1]).toBe('hang\nplease')
  await type('Typed', 'say later\r')
  const id = await send('Typed', 'and mail')
  expect(world.submitted('Typed')).toHaveLength(2)
  await type('Typed', '\x03')
  await until(() => world.submitted('Typed').length === 4)
  expect(world.submitted('Typed')[2]).toBe('say later')
  expect(world.submitted('Typed')[3]).toContain(id)
  expect(events('Typed', 'submitted-while-busy')).toEqual([])
  await release('Typed')
})

test('one that does not exit at the end of stdin, nor at a signal, is ended with all that it started', async () => {
  const worker = await hire('Stays', '--stay')
  await send('Stays', 'ask 1 rm')
  await until(async () => (await world.status('Stays')) === 'blocked')
  await release('Stays')
  expect(events('Stays', 'permission').map(({ outcome }) => outcome)).toEqual(['cancelled'])
  expect(events('Stays', 'end-of-stdin')).toHaveLength(1)
  expect(carrying(`RELAY_WORKER=${worker.id}`)).toEqual([])
})

test('one that is killed with a permission open has exited, and is blocked no more', async () => {
  const worker = await hire('Killed')
  await send('Killed', 'ask 1 rm')
  await until(async () => (await world.status('Killed')) === 'blocked')
  process.kill(worker.pid as number, 'SIGKILL')
  await until(async () => (await world.status('Killed')) === 'exited')
  await until(async () => (await world.told('Killed')).some((text) => text.includes('ended by signal 9')))
  await until(async () => (await closed('Killed').catch(() => [])).length === 1)
  expect((await closed('Killed')).map(({ how }) => how)).toEqual(['gone'])
})

test.each([
  ['exit', 'it ended with code 3'],
  ['version', 'it speaks version 2 of ACP'],
])('a CLI that cannot be spoken to over ACP (%s) is typed into instead, and its parent is told', async (how, why) => {
  const name = `Back-${how}`
  const args = ['--log', world.logPath(name), '--at-start', how]
  const { worker } = await world.lead.call('worker.spawn', { name, cli: 'both', args, cwd: world.root })
  expect(worker.cli).toBe('both')
  const now = async () => (await world.lead.call('worker.list', {})).workers.find((each) => each.name === name)
  await until(async () => (await now())?.control === 'pty')
  await until(async () => (await world.told(name)).some((text) => text.includes(`over ACP (${why})`)))
  // Before it has set its terminal up, an Enter would be another key.
  await until(async () => (await screen(name)).includes('scripted agent'))
  await type(name, 'busy 1\r')
  await until(() => world.submitted(name).includes('busy 1'))
  await release(name)
})

test('a command that speaks no ACP ends its worker, with the reason', async () => {
  const spawned = world.lead.call('worker.spawn', {
    name: 'None',
    cli: 'acp',
    command: command('None', '--at-start', 'exit'),
    cwd: world.root,
  })
  await expect(spawned).rejects.toThrow(/it cannot be spoken to over ACP: it ended with code 3/)
})

test('a terminal is taken where somebody wants one, and refused where there is none', async () => {
  const input = { cwd: world.root, control: 'pty' as const }
  const { worker } = await world.lead.call('worker.spawn', {
    name: 'Wanted',
    cli: 'both',
    args: ['--log', world.logPath('Wanted')],
    ...input,
  })
  expect(worker.control).toBe('pty')
  await release('Wanted')
  const none = world.lead.call('worker.spawn', { name: 'No', cli: 'over-http', command: ['x'], ...input })
  await expect(none).rejects.toThrow(/over ACP alone/)
  await expect(world.lead.call('worker.spawn', { name: 'No', cli: 'acp', cwd: world.root })).rejects.toThrow(
    /needs a command/,
  )
})

test('one that takes MCP servers over HTTP alone calls our tools there', async () => {
  const name = 'Over'
  const input = { name, cli: 'over-http', command: command(name), cwd: world.root }
  await world.lead.call('worker.spawn', { ...input, task: 'call relay_send {"to":"Lead","message":"over http"}' })
  await until(() => events(name, 'answered').length === 1)
  const { messages } = await world.lead.call('inbox.peek', { from: name })
  expect(messages.map(({ body }) => body)).toEqual(['over http'])
  expect(events(name, 'session')[0]?.mcpServers).toMatchObject([{ type: 'http', name: 'agent-relay' }])
  await release(name)
})

test('a project says how an agent is started over ACP, once it is trusted', async () => {
  const project = join(world.root, 'project')
  mkdirSync(join(project, '.relay'), { recursive: true })
  const settings = { harness: { mine: { acp: command('Mine') } } }
  writeFileSync(join(project, '.relay', 'config.json'), JSON.stringify(settings))
  const spawn = () => world.lead.call('worker.spawn', { name: 'Mine', cli: 'mine', cwd: project })
  await expect(spawn()).rejects.toThrow(/is not trusted: agent-relay trust/)
  const config = projectConfig(project, world.dataDir)
  if (config) trustConfig(config, world.dataDir)
  expect((await spawn()).worker).toMatchObject({ cli: 'mine', control: 'acp' })
  await until(() => world.isReady('Mine'))
  expect(events('Mine', 'session')[0]?.text).toBe(project)
  await release('Mine')
})

test('what goes over the wire fits the schemas of ACP', async () => {
  const path = fileURLToPath(new URL('acp-schema.json', import.meta.url))
  const { $defs } = JSON.parse(readFileSync(path, 'utf8'))
  const fits = (name: string, value: unknown) => {
    const schema = z.fromJSONSchema({ $ref: `#/$defs/${name}`, $defs } as never)
    return expect(schema.safeParse(value).error?.issues, `${name} ${JSON.stringify(value)}`).toBeUndefined()
  }
  await hire('Wire', '--wire')
  await send('Wire', 'say hello ask 1 touch')
  await until(async () => (await world.status('Wire')) === 'blocked')
  await type('Wire', '\x03')
  await until(() => events('Wire', 'permission').length === 1)
  // A release during the turn would cancel the turn a second time.
  await until(async () => (await world.status('Wire')) === 'idle')
  await release('Wire')
  const told = events('Wire', 'wire').map(({ text, message }) => ({ from: text, ...(message as Message) }))
  const requests = {
    initialize: 'InitializeRequest',
    'session/new': 'NewSessionRequest',
    'session/prompt': 'PromptRequest',
    'session/cancel': 'CancelNotification',
    'session/request_permission': 'RequestPermissionRequest',
  }
  for (const [method, name] of Object.entries(requests)) {
    const found = told.filter((each) => each.method === method)
    expect(found, method).toHaveLength(1)
    fits(name, found[0]?.params)
  }
  const answer = told.find(({ from, result }) => from === 'relay' && result !== undefined)
  fits('RequestPermissionResponse', answer?.result)
  expect(() => fits('RequestPermissionResponse', { outcome: { outcome: 'selected' } })).toThrow()
})

test('no token stands in an argument, and nothing went wrong that nobody was told of', () => {
  expect(JSON.stringify(events('Odd', 'started'))).not.toMatch(/at_[\w-]{8}/)
  expect(world.troubles).toEqual([])
})
