// Answers to approvals: the right to give one, and the effect of one that comes late or twice, the same on every wire. Agents that try to pass
// for a person are in ../broker/approvals/approvals.test.ts, other machines' requests in ../cluster/requests.test.ts.

import { RelayClient } from '@agent-relay/sdk'
import { type Link, makeIds, websocketConnector } from '@agent-relay/sdk/wire'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ApprovalsWorld, type Opened } from '../broker/approvals/approvals-world.ts'
import { bearer, textOf } from './http-world.ts'

const id = makeIds()
let queue: ApprovalsWorld
/** A person. */
let page: Link
const agents: Record<string, RelayClient> = {}
const tokens: Record<string, string> = {}

/** Lead has hired Fixer and Boss, and may answer for Fixer; Boss has hired Painter, and may answer for nobody. */
beforeAll(async () => {
  queue = await ApprovalsWorld.start()
  page = await queue.http.page({ cookie: await queue.http.login() })
  tokens.Lead = await queue.http.token('Lead')
  const lead = await enter('Lead')
  for (const name of ['Fixer', 'Boss']) tokens[name] = await queue.hire(lead, name)
  for (const name of ['Fixer', 'Boss']) await enter(name)
  await queue.hire(agents.Boss as RelayClient, 'Painter')
  const approve = [{ agent: 'Lead', for: 'Fixer', tools: ['*'], until: Date.now() + 3_600_000 }]
  await page.call('workspace.set-policy', { approve }, id('c'))
})
afterAll(async () => {
  await Promise.all(Object.values(agents).map((client) => client.disconnect()))
  await page?.close()
  await queue?.stop()
})

async function enter(agentName: string): Promise<RelayClient> {
  const { socketPath } = queue
  const client = new RelayClient({ agentName, token: tokens[agentName], socketPath, autoConnect: false })
  agents[agentName] = client
  await client.connect()
  return client
}

const input = ({ id, digest }: Opened, choice = 'allow') => ({ id, digest, choice })

/** What is said of it: nothing where it was taken. */
const saidBy = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    () => '',
    (error: Error) => error.message,
  )

interface Wire {
  /** An agent answers, with what it has of its own. */
  byAgent(name: string, each: Opened): Promise<string>
  /** What the agent is told. */
  denial(name: string, id: string): string
  /** Whoever may answer there does. */
  answer(each: Opened, choice: 'allow' | 'deny'): Promise<string>
  /** Where the answer was given, as the journal has it. */
  surface: 'delegation' | 'page' | 'terminal'
}

const denied = (id: string, why: string) =>
  `Approval ${id} is for a person to answer, on the page or at a terminal: ${why}.`
const undelegated = (name: string, id: string) => denied(id, `the agent ${name} has no delegation for it`)
const inside = (name: string) => `the calling process belongs to the agent ${name}`

/** By programs, which an agent's token opens: for its hirer under a delegation. */
const forPrograms = (give: (name: string, each: Opened, choice?: string) => Promise<string>): Wire => ({
  byAgent: give,
  denial: undelegated,
  answer: (each, choice) => give('Lead', each, choice),
  surface: 'delegation',
})

const overSocket = (name: string, each: Opened, choice?: string) =>
  saidBy((agents[name] as RelayClient).call('approval.answer', input(each, choice)))

async function overWebSocket(name: string, each: Opened, choice?: string): Promise<string> {
  const link = await websocketConnector(queue.http.url)({ name, token: tokens[name] })
  return saidBy(link.call('approval.answer', input(each, choice), id('c'))).finally(() => link.close())
}

async function overRest(name: string, each: Opened, choice?: string): Promise<string> {
  const { body } = await queue.http.api('approval.answer', input(each, choice), bearer(tokens[name] as string))
  return body.error?.message ?? ''
}

const onPage = (each: Opened, choice: string) => saidBy(page.call('approval.answer', input(each, choice), id('c')))

/** Nothing but what the command has printed of a refusal. */
const printed = ({ code, said }: { code: number; said: string }) => (code === 0 ? '' : said)

const wires: Record<string, Wire> = {
  'the socket, by the SDK': forPrograms(overSocket),
  'the WebSocket': forPrograms(overWebSocket),
  'the HTTP API': forPrograms(overRest),
  "the page's WebSocket": {
    byAgent: async (name) => saidBy(queue.http.page(bearer(tokens[name] as string))),
    denial: () => 'Unexpected server response: 401',
    answer: onPage,
    surface: 'page',
  },
  "the page's login": {
    byAgent: async (name) =>
      printed((await queue.inShell(name, { login: queue.typed('dashboard', '--no-open') })).login),
    denial: (name) => `This is for a person at a terminal of their own: ${inside(name)}.`,
    answer: onPage,
    surface: 'page',
  },
  'the command line': {
    byAgent: async (name, each) =>
      printed((await queue.inShell(name, { answer: queue.typed('approve', each.id) })).answer),
    denial: (name, id) => denied(id, `${inside(name)}, which has no delegation for it`),
    answer: async (each, choice) => printed(await queue.atTerminal(choice === 'allow' ? 'approve' : 'deny', each.id)),
    surface: 'terminal',
  },
}

/** Nobody has answered it yet; then a person does, and that is all there is of its end. */
async function isStillOpen(each: Opened): Promise<void> {
  expect(queue.closed(each.id)).toBeUndefined()
  expect(await queue.endsOf(each.id)).toEqual([])
  expect(await onPage(each, 'deny')).toBe('')
  expect(await each.over).toMatchObject({ how: 'answered', kind: 'deny' })
  expect(await queue.endsOf(each.id)).toMatchObject([{ by: 'human', fact: { kind: 'deny', surface: 'page' } }])
}

const cases: Record<string, (wire: Wire) => Promise<void>> = {
  'a worker cannot answer its own': async ({ byAgent, denial }) => {
    const each = await queue.ask({ agent: 'Fixer' })
    expect(await byAgent('Fixer', each)).toContain(denial('Fixer', each.id))
    await isStillOpen(each)
  },
  'an agent without a delegation cannot answer that of its own worker': async ({ byAgent, denial }) => {
    const each = await queue.ask({ agent: 'Painter' })
    expect(await byAgent('Boss', each)).toContain(denial('Boss', each.id))
    await isStillOpen(each)
  },
  'a late answer changes nothing and is told so': async ({ answer }) => {
    const each = await queue.ask()
    await queue.end(each)
    const row = queue.closed(each.id)
    expect(await answer(each, 'allow')).toMatch(/^Nobody answered it: claude took it back \(\d+ s ago\)\./)
    expect(queue.closed(each.id)).toEqual(row)
    expect(await queue.endsOf(each.id)).toMatchObject([{ by: 'agent-relay', fact: { how: 'cancelled' } }])
  },
  'a second answer changes nothing and is told what became of the first': async ({ answer, surface }) => {
    const each = await queue.ask()
    expect(await answer(each, 'allow')).toBe('')
    const row = queue.closed(each.id)
    const said = await answer(each, 'deny')
    expect(said).toMatch(/^Already answered by \S+ \(allowed, \d+ s ago\)\./)
    expect(said).toContain(` by ${row?.by} `)
    expect(queue.closed(each.id)).toEqual(row)
    expect(await each.over).toMatchObject({ how: 'answered', kind: 'allow' })
    const first = { how: 'answered', kind: 'allow', surface }
    expect(await queue.endsOf(each.id)).toMatchObject([{ by: row?.by, fact: first }])
  },
}

const table = Object.entries(wires).flatMap(([wire, by]) =>
  Object.entries(cases).map(([what, play]) => [wire, what, () => play(by)] as const),
)

test.each(table)('over %s: %s', (_wire, _what, play) => play())

test('over MCP there is nothing to answer with, in whatever toolset', async () => {
  const each = await queue.ask()
  const toolsets = { query: 'tools=relay,workspace,actions,agents' }
  for (const name of ['Fixer', 'Lead']) {
    const client = await queue.http.client('2026', bearer(tokens[name] as string), toolsets)
    const { tools } = await client.listTools()
    expect(tools.length).toBeGreaterThan(20)
    expect(tools.filter((tool) => /approv|permission/i.test(tool.name))).toEqual([])
    // A name that no tool has is looked for among the actions.
    const said = await textOf(client, 'approval.answer', input(each))
    expect(said).toContain(String.raw`There is no action \"approval.answer\".`)
  }
  await isStillOpen(each)
})
