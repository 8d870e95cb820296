// Claude Code and the queue of approvals: a session started by hand, and a worker. Allowed from the queue, denied from there with words, answered
// at the terminal first; how long the tool takes to run after an answer is printed.

import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Approval } from '@agent-relay/sdk/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../until.ts'
import { atTerminal, begin } from './at-terminal.ts'
import { type Cli, clis } from './clis.ts'
import { install } from './installing.ts'
import { median, OwnWorld } from './own-world.ts'
import { RealWorld } from './world.ts'

const claude = clis.find(({ name }) => name === 'claude') as Cli
const installed = install(claude)
const reason = 'reason' in installed ? installed.reason : undefined
const folder = 'folder' in installed ? installed.folder : ''
const isReady = /\? for shortcuts|manual mode/

describe.skipIf(reason)('Claude Code, started by hand', () => {
  let world: OwnWorld
  let terminal: Awaited<ReturnType<OwnWorld['open']>>
  beforeAll(async () => {
    world = await OwnWorld.start(claude, folder)
    terminal = await world.open('--permission-mode', 'default')
    await terminal.shows(isReady)
    await until(async () => (await world.reached('claude-code')) === 'wakes')
  })
  afterAll(() => world?.close())

  const bash = (command: string) => `use Bash ${JSON.stringify({ command, description: 'work' })}`
  const approvals = (): Approval[] => JSON.parse(world.relay('approvals', '--json')).approvals
  const asks = async (command: string): Promise<Approval> => {
    await terminal.enter(bash(command))
    await terminal.shows(/Do you want to proceed/)
    await until(() => approvals().length === 1)
    return approvals()[0] as Approval
  }
  const isMade = (name: string) => existsSync(join(world.work, name))
  const isIdle = () => until(async () => !/esc to interrupt|Esc to cancel/.test(await terminal.screen()))

  test('is in the queue while its dialog is open, and allowed from there', async () => {
    const times: number[] = []
    for (const n of [1, 2, 3, 4, 5]) {
      const asked = await asks(`touch made-${n}`)
      expect(asked).toMatchObject({ agent: 'claude-code', vendor: 'claude', tool: 'Bash', input: `touch made-${n}` })
      await sleep(1_000)
      const { code, said } = await atTerminal(world, 'approve', asked.id)
      expect([code, said]).toEqual([0, expect.stringContaining('Allowed.')])
      await until(() => isMade(`made-${n}`))
      const { events } = JSON.parse(world.relay('events', '--type', 'approval.closed', '--json'))
      times.push(Math.max(0, ranAt(world, `made-${n}`) - Date.parse(events.at(-1).ts)))
      await isIdle()
    }
    console.log(`from the answer to the file: median ${median(times)} ms of ${times.join(', ')}`)
  })

  test('denied from the queue: the model reads the words', async () => {
    const { id } = await asks('touch denied')
    await sleep(1_000)
    expect((await atTerminal(world, 'deny', id, 'Use a branch, please.')).said).toContain('was told why')
    await until(() => world.asked.some(({ body }) => JSON.stringify(body).includes('Use a branch, please.')))
    expect(isMade('denied')).toBe(false)
    await isIdle()
  })

  test('a question of its model is a choice: a yes is refused, and the model reads the answer', async () => {
    const question = { question: 'Which store?', header: 'Store', multiSelect: false }
    const options = ['Postgres', 'SQLite'].map((label) => ({ label, description: `take ${label}` }))
    await terminal.enter(`use AskUserQuestion ${JSON.stringify({ questions: [{ ...question, options }] })}`)
    await until(() => approvals().length === 1)
    const { id, questions } = approvals()[0] as Approval
    expect(questions?.[0]?.options.map(({ label }) => label)).toEqual(['Postgres', 'SQLite'])
    const refused = await atTerminal(world, 'approve', id)
    expect([refused.code === 0, refused.said]).toEqual([false, expect.stringContaining('allowing it is not an answer')])
    expect((await atTerminal(world, 'approve', id, '--answer', 'a plain file')).said).toContain('Answered.')
    await until(() => world.asked.some(({ body }) => JSON.stringify(body).includes('a plain file')))
    expect(approvals()).toEqual([])
    await isIdle()
  })

  test.each([
    ['a quick one', 'touch quick', 'quick'],
    ['one that takes its time', 'touch slow; sleep 8', 'slow'],
  ])('answered at the terminal first, %s: the queue closes', async (_, command, file) => {
    const { id } = await asks(command)
    await sleep(1_500)
    await terminal.type('\r')
    await until(() => isMade(file))
    await until(() => approvals().length === 0)
    const { events } = JSON.parse(world.relay('events', '--type', 'approval.closed', '--json'))
    expect(events.at(-1).fact).toMatchObject({ id, how: 'terminal', kind: 'allow' })
    console.log(
      `closed ${Math.round(Date.parse(events.at(-1).ts) - ranAt(world, file))} ms after "${command}" had begun`,
    )
    expect((await atTerminal(world, 'approve', id)).said).toContain('Already answered at the terminal')
    await isIdle()
  })

  test('refused at the terminal: closed as that', async () => {
    const { id } = await asks('touch never')
    await sleep(1_500)
    await terminal.type('\u001b')
    await until(() => approvals().length === 0)
    const { events } = JSON.parse(world.relay('events', '--type', 'approval.closed', '--json'))
    console.log(`refused at the terminal: ${JSON.stringify(events.at(-1).fact)}`)
    expect(events.at(-1).fact).toMatchObject({ id })
    expect(['terminal', 'cancelled', 'gone']).toContain(events.at(-1).fact.how)
    expect(isMade('never')).toBe(false)
  })
})

describe.skipIf(reason)('Claude Code as a worker', () => {
  let world: RealWorld
  beforeAll(async () => {
    world = await RealWorld.start(claude, folder, { hasLead: false })
    await world.hire({ name: 'Fixer', cli: 'claude', args: ['--permission-mode', 'default'] })
    await until(async () => /ready|idle/.test((await world.worker('Fixer'))?.status ?? ''))
  })
  afterAll(() => world?.close())

  const approvals = async (): Promise<Approval[]> =>
    JSON.parse((await atTerminal(world, 'approvals', '--json')).said.trim().split('\n').at(-1) as string).approvals
  const asks = async (command: string): Promise<Approval> => {
    await world.send('Fixer', `use Bash ${JSON.stringify({ command, description: 'work' })}`)
    await until(async () => (await approvals()).length === 1)
    return (await approvals())[0] as Approval
  }
  const lastClosed = async () => {
    const { said } = await atTerminal(world, 'events', '--type', 'approval.closed', '--json')
    return JSON.parse(said.trim().split('\n').at(-1) as string).events.at(-1).fact
  }

  test('allowed and denied from the queue, answered at its terminal first, and its parent told once', async () => {
    const first = await asks('touch made-1')
    expect(first).toMatchObject({ agent: 'Fixer', vendor: 'claude', tool: 'Bash', input: 'touch made-1' })
    // Its screen shows the same question: it is asked once.
    await sleep(3_000)
    expect(await approvals()).toHaveLength(1)
    expect((await atTerminal(world, 'approve', first.id)).said).toContain('Allowed. Fixer goes on.')
    await until(() => existsSync(join(world.work, 'made-1')))
    const second = await asks('touch made-2')
    expect((await atTerminal(world, 'deny', second.id, 'Use a branch, please.')).said).toContain('was told why')
    await until(() => world.asked.some(({ body }) => JSON.stringify(body).includes('Use a branch, please.')))
    const third = await asks('touch made-3; sleep 5')
    const attached = await begin(world, 'attach', 'Fixer')
    await until(() => attached.said().includes('Attached to Fixer'))
    // What it shows is drawn, with moves of the cursor between the words.
    await until(async () => (await atTerminal(world, 'logs', 'Fixer')).said.includes('Do you want to proceed'))
    await sleep(1_500)
    await attached.type('\r')
    await until(() => existsSync(join(world.work, 'made-3')))
    const from = performance.now()
    await until(async () => (await approvals()).length === 0)
    console.log(`a worker's question: closed ${Math.round(performance.now() - from)} ms after its terminal was quicker`)
    expect(await lastClosed()).toMatchObject({ id: third.id, how: 'terminal' })
    await attached.type('\u001d')
    await attached.ended
    expect(existsSync(join(world.work, 'made-2'))).toBe(false)
    await until(() => world.heard.filter((text) => text.includes('Fixer is blocked: it wants to run')).length === 3)
    expect(world.heard.filter((text) => text.includes('a dialog is open'))).toEqual([])
  })
})

/** When the file was made. */
function ranAt(world: OwnWorld, name: string): number {
  return statSync(join(world.work, name)).mtimeMs
}
