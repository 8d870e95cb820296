// Failures that never end the page: recordings of anybody's, with nothing in their events or with random values, and a view that
// cannot be loaded.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { guardMs } from '../guard.ts'
import { Random } from '../sim/random.ts'
import { found, inChromium } from './chromium.ts'
import { PageWorld } from './page-world.ts'

const types = [
  ...['message.created', 'delivery.offered', 'delivery.held', 'delivery.read', 'delivery.released'],
  ...['reaction.added', 'reaction.removed', 'workspace.began', 'workspace.key-issued', 'workspace.policy-set'],
  ...['conversation.opened', 'channel.created', 'channel.removed', 'channel.joined', 'channel.left'],
  ...['agent.registered', 'agent.updated', 'agent.token-issued', 'agent.tokens-revoked', 'agent.retired'],
  ...['agent.homed', 'agent.briefed', 'action.registered', 'action.withdrawn', 'action.invoked', 'action.completed'],
  ...['worker.wished', 'worker.wish-changed', 'worker.interrupted', 'worker.changed', 'worker.worktree-removed'],
  ...['run.started', 'run.completed', 'run.stopped', 'claim.made', 'claim.renewed', 'claim.ended'],
  ...[
    'claim.denied',
    'claim.passed',
    'approval.opened',
    'approval.closed',
    'need.dismissed',
    'notice.asked',
    'notice.ended',
    'session.event',
    'workspace.restored',
    'workspace.raised',
    'workspace.owned',
    'machine.revoked',
    'machine.admitted',
    'spend.noted',
    'events.skipped',
    'constructor',
    '__proto__',
    'of.later',
    '',
  ],
]
const fields = [
  ...['agent', 'worker', 'caller', 'provider', 'parent', 'message', 'id', 'channel', 'conversation', 'name', 'route'],
  ...['emoji', 'claims', 'count', 'what', 'why', 'reason', 'status', 'wish', 'summary', 'text', 'after', 'ok', 'code'],
  ...[
    'tool',
    'input',
    'how',
    'surface',
    'file',
    'path',
    'policy',
    'members',
    'durationMs',
    'tokens',
    'usd',
    'model',
    '__proto__',
    'toString',
  ],
]

const head = { seq: 1, ts: '2026-01-01T00:00:00Z', by: 'x' }
const message = { id: 'm_1', seq: 1, ts: head.ts, from: 'x', to: 'y', kind: 'free', body: 'hello' }

const fileOf = (events: readonly unknown[]) => ({
  name: 'strange.jsonl',
  mimeType: 'application/jsonl',
  buffer: Buffer.from(`${events.map((event) => JSON.stringify(event)).join('\n')}\n`),
})

/** What a field may hold that nobody expects there. */
function strange(random: Random, depth = 0): unknown {
  const plain = [null, true, 0, -1, 1e308, '', '*', '\ud800', '\u202ex', '**a', '[', 'x'.repeat(5_000)]
  const wild: unknown[] = [{ toString: 1 }, { valueOf: null }, { name: { toString: 0 } }, [[]], [null], { length: 1e9 }]
  if (random.chance(0.6) || depth > 4) return random.pick(plain)
  if (random.chance(0.5)) return random.pick(wild)
  return random.chance(0.5)
    ? Array.from({ length: random.below(4) }, () => strange(random, depth + 1))
    : factOf(random, depth + 1)
}

function factOf(random: Random, depth = 0): Record<string, unknown> {
  const names = Array.from({ length: random.below(8) }, () => random.pick(fields))
  return Object.fromEntries(names.map((name) => [name, strange(random, depth)]))
}

/** Of the right outer form: it passes for a recording, whatever is in it. */
function eventOf(random: Random, seq: number): unknown {
  const type = random.pick(types)
  const name = (): string => random.pick(['', 'a', '\ud800', '\u202ex', '#c', '*', '@a,b', 'x'.repeat(200)])
  const ts = random.pick([head.ts, '0', '+275760-09-13', '2026-01-01T00:00:00.123+14:00'])
  const event = { seq: random.chance(0.1) ? -seq : seq, ts, by: name(), type, fact: factOf(random) }
  if (type !== 'message.created') return event
  const body = random.pick(['', 'plain', '> '.repeat(2_000), '`'.repeat(9_000), '|a'.repeat(3_000), '\ud800'])
  const placed = { to: random.chance(0.5) ? name() : [name(), name()], channel: random.maybe(0.3, name) }
  const linked = { thread: random.maybe(0.3, name), replyTo: random.maybe(0.5, name) }
  return { ...event, message: { ...message, seq, ...placed, ...linked, id: name(), from: name(), body } }
}

const [seeds, events] = [12, 120]

describe.skipIf(found.path === undefined)(`a recording of anybody's on the page, ${inChromium}`, () => {
  let world: PageWorld
  beforeAll(async () => {
    world = await PageWorld.start()
    await world.show('recorder')
  })
  afterAll(async () => {
    await world?.stop()
  })

  async function open(all: readonly unknown[]): Promise<void> {
    const { page } = world
    await page.getByLabel('A recording').setInputFiles(fileOf(all))
    await page.getByRole('button', { name: 'Back to home' }).waitFor()
    await page.locator('.event').first().waitFor()
  }

  async function close(): Promise<void> {
    await world.page.getByRole('button', { name: 'Back to home' }).click()
    await world.page.getByRole('button', { name: 'Back to home' }).waitFor({ state: 'detached' })
  }

  it.each([
    ['a message that is missing', { ...head, type: 'message.created', fact: {} }],
    ['a message where none belongs', { ...head, type: 'run.started', fact: {}, message }],
    [
      'a body longer than any',
      { ...head, type: 'message.created', fact: {}, message: { ...message, body: 'x'.repeat(300_000) } },
    ],
    ['a name longer than any', { ...head, type: 'run.started', by: 'x'.repeat(4_000), fact: {} }],
    ['a fact that is a list', { ...head, type: 'run.started', fact: [] }],
    [
      'a fact deeper than any',
      { ...head, type: 'run.started', fact: JSON.parse(`${'{"a":'.repeat(300)}0${'}'.repeat(300)}`) },
    ],
    ['a time that is not one', { ...head, ts: 'soon', type: 'run.started', fact: {} }],
  ])('is refused with %s', async (_what, event) => {
    const { page } = world
    await page.getByLabel('A recording').setInputFiles(fileOf([event]))
    await page.getByText('This is not a recording').waitFor()
    expect(await page.getByRole('button', { name: 'Back to home' }).count()).toBe(0)
  })

  it('has a text for every type, also where its fact is empty', async () => {
    const { page } = world
    await open(
      types.map((type, i) => ({
        ...head,
        seq: i + 1,
        type,
        fact: {},
        ...(type === 'message.created' ? { message } : {}),
      })),
    )
    expect(await page.locator('.event').count()).toBe(types.length)
    const texts = await page.locator('.event bdi').allTextContents()
    expect(texts.filter((text) => text === '' || /undefined|object|NaN/.test(text))).toEqual([])
    expect(texts).toContain('offered to ? by ?')
    expect(texts).toContain('? asks for leave: ? (?)')
    expect(texts).toContain('of.later by x')
    await close()
  })

  it('is opened, stepped through and left again, whatever is in it', { timeout: 4 * guardMs }, async () => {
    const { page } = world
    for (let seed = 1; seed <= seeds; seed++) {
      const random = new Random(seed)
      await open(Array.from({ length: events }, (_, i) => eventOf(random, i + 1)))
      for (let i = 0; i < 12; i++) await page.locator('.event').nth(random.below(events)).click({ force: true })
      await page.getByLabel('Lanes by').selectOption(random.pick(['agent', 'conversation']))
      expect([seed, await page.getByText('could not be shown').count()]).toEqual([seed, 0])
      await page.locator('.closely').waitFor()
      await close()
    }
  })

  it('had nothing to complain about', () => {
    expect(world.complaints).toEqual([])
  })

  it('a view that cannot be loaded says so, and the rest of the page goes on', async () => {
    // A page of its own: the browser complains, as it should.
    const page = await world.page.context().newPage()
    // As after an update of the daemon: the file that this page knows is gone.
    await page.route(/assets\/runs-/, (route) => route.abort())
    await page.goto(`${world.http.url}/w/home/`)
    await page.getByText('you are').waitFor()
    await page.getByRole('link', { name: 'Runs' }).click()
    await page.getByText('This view could not be shown').waitFor()
    // The palette came with the page: nothing has to be loaded before it takes its first key.
    await page.keyboard.press('Control+k')
    await page.keyboard.type('talk')
    await page.getByRole('option', { name: 'Talk' }).first().waitFor()
    expect(await page.getByRole('combobox', { name: 'Go or do' }).inputValue()).toBe('talk')
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'Talk' }).click()
    await page.getByText('This view could not be shown').waitFor({ state: 'detached' })
    await page.locator('.place', { hasText: '#general' }).waitFor()
    await page.unroute(/assets\/runs-/)
    await page.getByRole('link', { name: 'Runs' }).click()
    await page.getByRole('button', { name: 'Reload the page' }).first().click()
    await page.getByRole('region', { name: 'No run' }).getByText('No run yet').waitFor()
    await page.close()
  })
})
