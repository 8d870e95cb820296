// Codex as a person starts it: woken by a message when idle, at the end of the turn when busy, after the answer when it asks for permission.
// When all of it has passed, own.json has the version too, of which `npm run reference` makes a list in docs/reference/hosts.md.

import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../until.ts'
import { type Cli, clis } from './clis.ts'
import { install } from './installing.ts'
import { median, OwnWorld } from './own-world.ts'

const codex: Cli = {
  ...(clis.find(({ name }) => name === 'codex') as Cli),
  prepare(place) {
    const env = (clis.find(({ name }) => name === 'codex') as Cli).prepare(place)
    // The person has answered the question whether they trust this folder.
    appendFileSync(join(place.home, '.codex/config.toml'), `[projects."${place.work}"]\ntrust_level = "trusted"\n`)
    return env
  },
}
const installed = install(codex)
const reason = 'reason' in installed ? installed.reason : undefined
const folder = 'folder' in installed ? installed.folder : ''

const report = new URL('own.json', import.meta.url)
let [passed, all] = [0, 0]
afterEach(({ task }) => {
  all = task.file.tasks.flatMap((each) => (each.type === 'suite' ? each.tasks : [each])).length
  if (task.result?.state !== 'fail') passed++
})
afterAll(() => {
  if (reason || passed < all) return
  const versions = new Set([...JSON.parse(readFileSync(report, 'utf8')), codex.npmPackage])
  writeFileSync(report, `${JSON.stringify([...versions].sort())}\n`)
})

/** What app-server.ts asks and hears, and which fields of it. */
const used: Record<string, string[]> = {
  InitializeParams: ['clientInfo', 'capabilities'],
  ThreadLoadedListResponse: ['data'],
  ThreadReadParams: ['threadId'],
  ThreadReadResponse: ['thread'],
  Thread: ['id', 'cwd', 'ephemeral', 'parentThreadId', 'status', 'name', 'model'],
  ThreadUnsubscribeParams: ['threadId'],
  ThreadTokenUsageUpdatedNotification: ['threadId', 'tokenUsage'],
  ThreadTokenUsage: ['total'],
  TokenUsageBreakdown: ['inputTokens', 'outputTokens', 'cachedInputTokens'],
  TurnStartParams: ['threadId', 'input', 'clientUserMessageId'],
  TurnInterruptParams: ['threadId', 'turnId'],
  Turn: ['id', 'status'],
  ThreadItemsListParams: ['threadId', 'limit', 'sortDirection', 'cursor'],
  ThreadItemsListResponse: ['data', 'nextCursor'],
  ThreadItemEntry: ['item'],
  ThreadStartedNotification: ['thread'],
  ThreadStatusChangedNotification: ['threadId', 'status'],
  ThreadClosedNotification: ['threadId'],
}

test.skipIf(reason)('its protocol is the one that we built against', async () => {
  const made = mkdtempSync(join(tmpdir(), 'codex-schema-'))
  const env = { HOME: made, PATH: [folder, process.env.PATH].join(':') }
  const ask = (...args: string[]) => String(execFileSync(join(folder, 'codex'), args, { env, stdio: 'pipe' }))
  try {
    ask('app-server', 'generate-json-schema', '--out', made)
    const { definitions } = JSON.parse(readFileSync(join(made, 'codex_app_server_protocol.v2.schemas.json'), 'utf8'))
    const fields = Object.entries(used).map(([name, names]) => {
      const { required = [], properties } = definitions[name]
      return [name, { required, ...Object.fromEntries(names.map((each) => [each, properties[each]])) }]
    })
    const { ThreadStatus, TurnStatus } = definitions
    const [text] = definitions.UserInput.oneOf
    const steps = ['userMessage', 'contextCompaction', 'agentMessage']
    const isUsed = ({ properties }: { properties: { type: { enum: string[] } } }) =>
      steps.includes(properties.type.enum[0] ?? '')
    const ThreadItem = definitions.ThreadItem.oneOf.filter(isUsed)
    const built = { ...Object.fromEntries(fields), ThreadStatus, TurnStatus, UserInput: text, ThreadItem }
    expect(built).toEqual(JSON.parse(readFileSync(new URL('codex-app-server.json', import.meta.url), 'utf8')))
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
})

describe.skipIf(reason)('started by hand, and configured by `mcp install --yes` alone', () => {
  let world: OwnWorld
  let terminal: Awaited<ReturnType<OwnWorld['open']>>
  beforeAll(async () => {
    world = await OwnWorld.start(codex, folder)
    terminal = await world.open()
    await terminal.shows(/fake-model default/)
    await until(async () => (await world.reached('codex')) === 'wakes')
  })
  afterAll(() => world?.close())

  test('idle: a message reaches the model, and the receipt says how', async () => {
    const times: number[] = []
    for (let i = 0; i < 10; i++) {
      const { id, ms } = await world.sendAndSee('codex', `ping ${i}!`)
      times.push(ms)
      await until(async () => (await world.route(id)) === 'app-server')
      await sleep(300)
    }
    console.log(`idle Codex: median ${Math.round(median(times))} ms of ${times.map(Math.round).join(', ')}`)
    expect(world.relay('who')).toMatch(/codex .* wakes/)
  })

  test('busy: at the end of the turn, and nothing that runs is cut off', async () => {
    await terminal.enter('slow 3')
    await until(() => world.seen('slow 3') !== undefined)
    await until(async () => (await world.agent('codex'))?.doing?.state === 'busy')
    await world.peer.send('codex', 'while you speak')
    await until(() => world.seen('while you speak') !== undefined)
    const made = join(world.work, 'made')
    await terminal.enter(`use exec_command {"cmd":"sleep 3; echo done >made"}`)
    await until(() => world.seen('sleep 3') !== undefined)
    const { ms } = await world.sendAndSee('codex', 'while you work')
    expect(ms).toBeGreaterThan(1_000)
    expect(existsSync(made)).toBe(true)
    expect(world.asked.filter(({ isCut }) => isCut)).toEqual([])
  })

  test('with an open permission: after it is answered', async () => {
    const command = { cmd: 'touch allowed', sandbox_permissions: 'require_escalated', justification: 'need it' }
    await terminal.enter(`use exec_command ${JSON.stringify(command)}`)
    await terminal.shows(/Press enter to confirm|Yes, proceed/i)
    await until(async () => (await world.agent('codex'))?.doing?.state === 'waiting')
    expect(world.relay('who')).toMatch(/codex .* (?:blocked: wants to run "touch allowed"|waiting: approval)/)
    await world.peer.send('codex', 'while you ask')
    await sleep(2_000)
    expect(world.seen('while you ask')).toBeUndefined()
    expect(await terminal.screen()).not.toContain('while you ask')
    await terminal.type('\r')
    await until(() => world.seen('while you ask') !== undefined)
    expect(existsSync(join(world.work, 'allowed'))).toBe(true)
    await until(async () => (await world.agent('codex'))?.doing?.state === 'idle')
  })

  test('200 messages while it goes busy and idle at random: each is offered once', async () => {
    const ids = await world.sendWhileBusy('codex', terminal)
    const wentBy = async () => Promise.all(ids.map((id) => world.route(id)))
    await until(async () => (await wentBy()).every((route) => route === 'app-server'))
    await until(() => ids.every((id) => timesIn(world.home, id) > 0))
    expect(ids.filter((id) => timesIn(world.home, id) !== 1)).toEqual([])
    expect(world.asked.filter(({ isCut }) => isCut).length).toBeLessThan(3)
  })

  test('its terminal is closed: a minute later Codex closes the conversation, and nobody is there', async () => {
    // One ends a turn that is under way, one empties the line, and two end Codex.
    for (let i = 0; i < 5; i++) {
      await Promise.resolve(terminal.type('\x03')).catch(() => {})
      await sleep(500)
    }
    await until(async () => (await world.reached('codex')) === undefined)
  })
})

test.skipIf(reason)('a run that ends by itself, `codex exec`, with us and without', async () => {
  const world = await OwnWorld.withoutUs(codex, folder)
  try {
    const before = world.contents(['.codex/config.toml'])
    world.install()
    const text = await world.compare(before, 'exec', '--skip-git-repo-check', 'say hello')
    console.log(`codex exec: ${text}`)
  } finally {
    await world.close()
  }
})

/** How often a message stands in what people and relays have said to the model, as Codex recorded it. */
function timesIn(home: string, id: string): number {
  const folder = join(home, '.codex/sessions')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.jsonl'))
  const lines = files.flatMap((path) => readFileSync(join(folder, path), 'utf8').trim().split('\n'))
  const said = lines
    .map((line) => JSON.parse(line))
    .filter(({ type, payload }) => type === 'response_item' && payload.role === 'user')
  return said.filter(({ payload }) => JSON.stringify(payload.content).includes(`[${id}]`)).length
}
