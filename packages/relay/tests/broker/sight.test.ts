// Reads that find by index what a reader sees, against the rule of core/sight.ts asked about everything: events, searches, pages, threads,
// conversations, receipts, mail and runs of random histories, in which agents come, leave and come back.

import { type Fact, makeIds, type OutputOf, type RelayEvent } from '@agent-relay/sdk/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sized } from '../../../../test/size.ts'
import type { CallContext } from '../../src/broker/call.ts'
import { Events } from '../../src/broker/events.ts'
import { EntryHub } from '../../src/broker/hub.ts'
import { LocalEngine } from '../../src/broker/local-engine.ts'
import { LongReads } from '../../src/broker/long-reads.ts'
import { listConversations, listMail, listMessages, listThread } from '../../src/broker/messages/history.ts'
import { MessageSearch } from '../../src/broker/messages/search.ts'
import type { DaemonCallScope } from '../../src/broker/workspace.ts'
import { seesFact } from '../../src/core/facts/table.ts'
import { type Reader, sees, seesAllRuns } from '../../src/core/sight.ts'
import { runAllSteps } from '../../src/core/steps.ts'
import type { MessageHead, RunRow } from '../../src/core/view.ts'
import { systemClock } from '../../src/machine/clock.ts'
import { fillConcerns } from '../../src/store/concerns.ts'
import { CoreWorld } from '../core/core-world.ts'

const early = ['ada', 'bob', 'cy']
const all = [...early, 'dee', 'eve', 'pat']
const channels = ['#one', '#two', '#three']
const words = ['owl', 'mouse', 'fox', 'hen']
const never = { isSpent: false }

/** A history that one number decides. Long enough that entries are found by index, not looked through. */
function history(seed: number, steps: number) {
  let state = (seed % 2_147_483_646) + 1
  const random = (below: number) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
  const oneOf = <T>(list: readonly T[]) => list[random(list.length)] as T
  const world = new CoreWorld().cast(...early)
  const sent: string[] = []
  const append = (by: string, ...facts: Fact[]) =>
    world.store.transact(() =>
      world.store.append({
        at: world.at,
        by,
        cause: `x${state}/${sent.length}/${random(1e9)}`,
        facts,
        rule: 'test',
        outcome: {},
      }),
    )
  for (let step = 0; step < steps; step++) {
    if (step === steps >> 1) world.cast('dee', 'eve').register('pat', { type: 'human', isHolder: true })
    const known = step < steps >> 1 ? early : all
    const by = oneOf(known)
    const pick = random(22)
    if (pick < 9) {
      const to = oneOf<string | string[]>(['*', '#general', ...channels, ...known, known.slice(0, 3)])
      const body = `${oneOf(words)} ${oneOf(words)}`
      const replyTo = sent.length > 0 && random(4) === 0 ? oneOf(sent) : undefined
      const given = world.give('message.send', by, {
        to,
        body,
        ...(replyTo ? { replyTo } : random(5) === 0 ? { thread: 't' } : {}),
      })
      if ('outcome' in given) sent.push(given.outcome.id as string)
    } else if (pick < 12) world.give('channel.join', by, { channel: oneOf(channels), create: true })
    else if (pick < 14) world.give('channel.leave', by, { channel: oneOf(channels) })
    else if (pick < 16) world.give('inbox.take', by, { limit: 1 + random(5) }, `s-${by}`)
    else if (pick < 17 && sent.length > 0) world.give('inbox.read', by, { messages: [oneOf(sent)] })
    else if (pick < 18 && sent.length > 0) world.give('message.react', by, { message: oneOf(sent), emoji: '👍' })
    else if (pick < 19) {
      const [id, provider] = [`act${step}`, oneOf(known)]
      const invoked = { action: 'a', caller: by, provider, inputBytes: 2, until: 1 }
      append(by, { type: 'action.invoked', id, ...invoked })
      if (random(2) === 0)
        append(provider, { type: 'action.completed', id, action: 'a', caller: by, ok: true, durationMs: 1 })
      append(by, {
        type: 'action.registered',
        name: `a${step}`,
        provider: by,
        session: 's',
        description: '',
        inputSchema: {},
        timeoutMs: 1,
        ...(random(2) === 0 ? { availableTo: [oneOf(known)] } : {}),
      })
    } else if (pick < 21) {
      const [id, worker] = [`wk${step}`, oneOf(known)]
      const wished = { worker, parent: by, cli: 'c', cwd: '/', isInjected: false }
      append(by, { type: 'worker.wished', id, ...wished })
      append('agent-relay', { type: 'worker.changed', id, worker, status: oneOf(['ready', 'exited'] as const) })
      if (random(2) === 0) append(by, { type: 'worker.wish-changed', id, worker, wish: 'gone' })
    } else {
      const [id, agent] = [`run${step}`, oneOf(known)]
      append(by, { type: 'run.started', id, agent, parent: by, harness: 'external' })
      append(
        agent,
        random(2) === 0 ? { type: 'run.stopped', id, agent } : { type: 'run.completed', id, agent, summary: 's' },
      )
      append('agent-relay', { type: 'agent.tokens-revoked', agent })
      append(agent, { type: 'agent.briefed', agent, after: 'compact', text: 't' })
      append(agent, { type: 'spend.noted', agent, run: id, tokens: { input: 1, output: 1, cached: 0 } })
    }
  }
  return world
}

const readers: Reader[] = [
  ...all.map((agent) => ({ agent, standing: { rank: 'agent' as const } })),
  { agent: 'bob', standing: { rank: 'nobody' } },
  { standing: { rank: 'agent' } },
  { agent: 'ada', standing: { rank: 'holder' } },
]

function eventsOf(world: CoreWorld) {
  const hub = new EntryHub((error) => {
    throw error
  })
  return { hub, events: new Events({ store: world.store, hub, reads: new LongReads() }) }
}

const heads = (world: CoreWorld): MessageHead[] =>
  (world.store.database.prepare('SELECT id FROM messages ORDER BY seq').all() as [string][]).map(
    ([id]) => world.store.view.message(id) as MessageHead,
  )

/** Hashes are shown to nobody. */
const withoutSecrets = ({ hash: _, ...fact }: { type: string; hash?: unknown }): object => fact

const seeds = fc.integer({ min: 1, max: 2_000_000_000 })
const few = { numRuns: sized(2, 20) }

test('events: the index finds what the rule allows, from either end, in pages of any size', () => {
  fc.assert(
    fc.property(seeds, fc.integer({ min: 1, max: 400 }), (seed, limit) => {
      const world = history(seed, 500)
      const { events } = eventsOf(world)
      const { lastSeq } = world.store.journal
      for (const reader of readers) {
        const allowed = world.store.journal
          .read(0, lastSeq)
          .flatMap(({ seq, facts }) => facts.map((fact) => ({ seq, fact })))
          .filter(({ fact }) => seesFact(world.store.view, reader, fact))
        const plain = (list: RelayEvent[]) =>
          list.map(({ seq, type, fact }) => ({ seq, fact: withoutSecrets({ type, ...fact }) }))
        const wanted = allowed.map(({ seq, fact }) => ({ seq, fact: withoutSecrets(fact) }))
        const upward: RelayEvent[] = []
        for (let since = 0, more = true; more; ) {
          const page = runAllSteps(events.list(reader, { since, limit }, never))
          upward.push(...page.events)
          ;({ next: since, more } = page)
        }
        expect(plain(upward)).toEqual(wanted)
        const downward: RelayEvent[][] = []
        for (let before: number | undefined = lastSeq + 1; before !== undefined; ) {
          const page: OutputOf<'event.list'> = runAllSteps(events.list(reader, { before, limit }, never))
          downward.unshift(page.events)
          before = page.earlier
        }
        expect(downward.flat()).toEqual(upward)
        // So few that they are looked through one by one.
        const near = runAllSteps(events.list(reader, { since: lastSeq - 100, limit: 1_000 }, never)).events
        expect(near).toEqual(upward.filter(({ seq }) => seq > lastSeq - 100))
        const types = ['message.created', 'delivery.*']
        const chosen = runAllSteps(events.list(reader, { since: 0, types, limit: 1e6 }, never)).events
        expect(chosen).toEqual(upward.filter(({ type }) => type === 'message.created' || type.startsWith('delivery.')))
      }
    }),
    few,
  )
})

test('events: a page without a number holds the newest, and nothing is missed from there on', () => {
  const world = history(7, 500)
  const { events } = eventsOf(world)
  const bob = { agent: 'bob', standing: { rank: 'agent' as const } }
  const whole = runAllSteps(events.list(bob, { since: 0, limit: 1e6 }, never)).events
  const newest = runAllSteps(events.list(bob, { limit: 20 }, never))
  expect(newest.events).toEqual(whole.slice(-newest.events.length))
  expect(newest.events.length).toBeGreaterThanOrEqual(20)
  expect(newest).toMatchObject({ next: world.store.journal.lastSeq, more: false, earlier: newest.events[0]?.seq })
  const id = world.send('ada', 'bob')
  expect(runAllSteps(events.list(bob, { since: newest.next, limit: 20 }, never)).events.at(-1)?.message?.id).toBe(id)
})

test('events: an old journal that is indexed later gets the same index', () => {
  const { store } = history(11, 400)
  const rows = () => store.database.prepare('SELECT who, seq FROM concerns ORDER BY who, seq').all()
  const written = rows()
  expect(written.length).toBeGreaterThan(200)
  store.rebuild()
  expect(rows()).toEqual(written)
  store.database.exec('DELETE FROM concerns')
  fillConcerns(store.database)
  expect(rows()).toEqual(written)
})

test('searches find exactly what the reader may see, whatever the filter, in pages too', () => {
  fc.assert(
    fc.property(seeds, fc.integer({ min: 1, max: 30 }), (seed, limit) => {
      const world = history(seed, 400)
      const { hub } = eventsOf(world)
      const { store } = world
      const engine = new LocalEngine({
        store,
        hub,
        clock: systemClock,
        ids: makeIds(),
        world: { isLive: () => false, liveSession: () => undefined },
        onFatal() {},
      })
      const search = new MessageSearch({
        store,
        engine,
        hub,
        reads: new LongReads(),
        path: ':memory:',
        partEntries: 64,
      })
      const told = heads(world)
        .map((head) => ({ head, body: store.queries.messageWithBody(head).body }))
        .reverse()
      for (const reader of readers) {
        for (const asked of [
          {},
          { from: 'ada' },
          { channel: '#one' },
          { from: 'bob', channel: '#general' },
          { channel: '#none' },
        ]) {
          const found: number[] = []
          for (let before: number | undefined, isFirst = true; isFirst || before !== undefined; isFirst = false) {
            const page = runAllSteps(search.find(reader, { text: 'owl fo*', ...asked, limit, before }, never))
            found.push(...page.messages.map(({ seq }) => seq))
            before = page.next
          }
          const wanted = told.filter(
            ({ head, body }) =>
              sees(store.view, reader, 'message', head) &&
              body.includes('owl') &&
              body.includes('fo') &&
              (!('from' in asked) || head.from === asked.from) &&
              (!('channel' in asked) || head.conversation === asked.channel),
          )
          expect(found).toEqual(wanted.map(({ head }) => head.seq))
        }
      }
      search.close()
    }),
    few,
  )
})

/** A history, and the readers who ask as an agent. */
function asked(seed: number) {
  const world = history(seed, 400)
  const context = { workspace: { store: world.store } } as DaemonCallScope
  const askings = readers.flatMap((reader) =>
    reader.agent === undefined ? [] : [{ reader, asking: { session: reader, by: reader.agent } as CallContext }],
  )
  return { world, store: world.store, context, askings }
}

test('pages of a conversation and threads hold what may be seen, and nothing that is hidden ends one early', () => {
  fc.assert(
    fc.property(seeds, fc.integer({ min: 1, max: 20 }), (seed, limit) => {
      const { world, store, context, askings } = asked(seed)
      for (const { reader, asking } of askings) {
        const seen = heads(world).filter((head) => sees(store.view, reader, 'message', head))
        for (const conversation of ['*', '#general', ...channels]) {
          if (store.view.lastNumber(conversation) === undefined) continue
          const wanted = seen.filter((head) => head.conversation === conversation).map(({ n }) => n)
          const read = (asked: object) =>
            runAllSteps(listMessages(context, asking, { conversation, limit, ...asked })).messages.map(({ n }) => n)
          const down: number[] = []
          for (let page = read({}); page.length > 0; page = read({ before: down[0] })) down.unshift(...page)
          expect(down).toEqual(wanted)
          const up: number[] = []
          for (let page = read({ after: 0 }); page.length > 0; page = read({ after: up.at(-1) })) up.push(...page)
          expect(up).toEqual(wanted)
        }
        const told: number[] = []
        for (let after: number | undefined = 0; after !== undefined; ) {
          const page: OutputOf<'message.thread'> = runAllSteps(
            listThread(context, asking, { thread: 't', after, limit }, never),
          )
          told.push(...page.messages.map(({ seq }) => seq))
          after = page.next
        }
        expect(told).toEqual(seen.filter((head) => head.thread === 't').map(({ seq }) => seq))
      }
    }),
    few,
  )
})

test('lists of conversations show those that may be seen, and of each the last message only to those who see it', () => {
  fc.assert(
    fc.property(seeds, (seed) => {
      const { world, store, context, askings } = asked(seed)
      const names = (store.database.prepare('SELECT name FROM conversations').all() as [string][]).map(([name]) => name)
      for (const { reader, asking } of askings) {
        const listed = runAllSteps(listConversations(context, asking, { limit: 500 })).conversations
        const wanted = names.filter((name) => sees(store.view, reader, 'conversation', name))
        expect(listed.map(({ name }) => name).sort()).toEqual(wanted.sort())
        for (const { name, last } of listed) {
          const newest = heads(world).findLast((head) => head.conversation === name)
          const isSeen = newest !== undefined && sees(store.view, reader, 'message', newest)
          expect([name, last?.id]).toEqual([name, isSeen ? newest.id : undefined])
        }
      }
    }),
    few,
  )
})

test('receipts are kept for those who see the message and did not send it, and mail holds what its owner sees', () => {
  fc.assert(
    fc.property(seeds, (seed) => {
      const { world, store, context, askings } = asked(seed)
      for (const head of heads(world)) {
        const others = all.filter((agent) => agent !== head.from && store.view.agent(agent))
        const wanted = others.filter((agent) =>
          sees(store.view, { agent, standing: { rank: 'agent' } }, 'message', head),
        )
        expect(
          runAllSteps(store.queries.receipts(head, () => false))
            .map(({ agent }) => agent)
            .sort(),
        ).toEqual(wanted)
      }
      for (const { reader, asking } of askings)
        for (const agent of all) {
          const read = (box: 'inbox' | 'sent') =>
            runAllSteps(listMail(context, asking, { agent, box, limit: 500 })).messages
          if (!sees(store.view, reader, 'mail', agent)) {
            expect(() => read('inbox')).toThrow(/is for/)
            continue
          }
          const owner: Reader = { agent, standing: { rank: 'agent' } }
          for (const { id } of [...read('inbox'), ...read('sent')])
            expect(sees(store.view, owner, 'message', store.view.message(id) as MessageHead)).toBe(true)
        }
    }),
    few,
  )
})

test('lists of runs hold exactly the runs that the reader may see', () => {
  fc.assert(
    fc.property(seeds, fc.integer({ min: 1, max: 1_000 }), (seed, limit) => {
      const { store } = history(seed, 400)
      const ids = (store.database.prepare('SELECT id FROM runs ORDER BY contract DESC').all() as [string][]).flat()
      for (const reader of readers) {
        if (reader.agent === undefined) continue
        const scope = seesAllRuns(store.view, reader) ? undefined : reader.agent
        const listed = runAllSteps(store.view.runs.list(scope, undefined, limit)).map(({ id }) => id)
        const wanted = ids.filter((id) => sees(store.view, reader, 'run', store.view.runs.byId(id) as RunRow))
        expect(listed).toEqual(wanted.slice(0, limit))
      }
    }),
    few,
  )
})

test('whoever only says an agent’s name does not see its brief', () => {
  const { view } = history(1, 10).store
  const fact: Fact = { type: 'agent.briefed', agent: 'bob', after: 'compact', text: 'Your task: a secret.' }
  const seen = (agent: string, rank: Reader['standing']['rank']) => seesFact(view, { agent, standing: { rank } }, fact)
  expect([seen('bob', 'agent'), seen('bob', 'owner'), seen('ada', 'holder')]).toEqual([true, true, true])
  expect([seen('bob', 'nobody'), seen('ada', 'agent')]).toEqual([false, false])
})
