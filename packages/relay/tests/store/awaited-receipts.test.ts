// Receipts of messages that have not arrived here yet: the agents for which they count, and when.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Fact } from '@agent-relay/sdk/protocol'
import { afterAll, expect, test } from 'vitest'
import { AwaitedReceipts } from '../../src/store/awaited-receipts.ts'
import { Store } from '../../src/store/store.ts'

const folder = mkdtempSync(join(tmpdir(), 'relay-awaited-'))
const stores: Store[] = []
afterAll(() => {
  for (const store of stores) store.close()
  rmSync(folder, { recursive: true, force: true })
})

const channel = '#general'

/** A copy of a workspace on the box. */
class Copy {
  readonly store: Store
  readonly awaited: AwaitedReceipts

  constructor() {
    this.store = new Store(join(folder, `${stores.length}.db`), [], 'box')
    stores.push(this.store)
    this.awaited = new AwaitedReceipts(this.store)
    this.apply({ type: 'channel.created', channel })
  }

  apply(...facts: Fact[]): void {
    this.store.transact(() => {
      const seq = this.store.journal.lastSeq + 1
      const entry = { at: seq, by: 'agent-relay', cause: `c${seq}`, rule: 'x', outcome: {}, facts, body: 'text' }
      this.store.apply([{ ...entry, seq, machine: 'laptop', mark: `m${seq}` }])
      this.awaited.storeArrived(facts)
    })
  }

  enter(agent: string, machine: string, id = `a_${agent}`): void {
    this.apply(
      { type: 'agent.registered', id, agent: { name: agent, type: 'agent' } },
      { type: 'agent.homed', agent, machine, epoch: 1 },
      { type: 'channel.joined', channel, agent, n: 0 },
    )
  }

  say(id: string): void {
    const n = (this.store.view.lastNumber(channel) ?? 0) + 1
    this.apply({ type: 'message.created', id, conversation: channel, n, from: 'ada', kind: 'free' })
  }

  read(agent: string, message: string, at: number): void {
    const facts: Fact[] = [{ type: 'delivery.read', message, agent }]
    const draft = { at, by: agent, cause: `${at}`, rule: 'inbox.read', outcome: {}, facts }
    this.store.transact(() => void this.store.appendLocal(draft))
  }

  readAt(agent: string, message: string): number | undefined {
    const { view } = this.store
    const head = view.message(message)
    return head && view.receipt(agent, head)?.readAt
  }

  unread(agent: string): string[] {
    return [...this.store.view.inbox.unread(agent, {})].flatMap((each) => each?.head.id ?? [])
  }
}

function formerly(): Copy {
  const copy = new Copy()
  for (const agent of ['ada', 'bob', 'cy']) copy.enter(agent, agent === 'cy' ? 'laptop' : 'box')
  for (const id of ['m_1', 'm_2', 'm_3']) copy.say(id)
  copy.read('bob', 'm_1', 100)
  copy.read('bob', 'm_3', 300)
  copy.read('cy', 'm_1', 400)
  return copy
}

test('a receipt waits for its message, in whichever order they come, and then is one like any other', () => {
  const [former, copy] = [formerly(), new Copy()]
  for (const agent of ['ada', 'bob', 'cy']) copy.enter(agent, agent === 'cy' ? 'laptop' : 'box')
  copy.awaited.copyFrom(former.store)
  for (const id of ['m_3', 'm_2', 'm_1']) copy.say(id)
  expect(copy.unread('bob')).toEqual(['m_2'])
  expect([copy.readAt('bob', 'm_1'), copy.readAt('bob', 'm_3')]).toEqual([100, 300])
  // What an agent of another machine has read, that machine says.
  expect(copy.unread('cy')).toEqual(['m_3', 'm_2', 'm_1'])
  copy.store.rebuild()
  expect(copy.unread('bob')).toEqual(['m_2'])
  // Again, there is nothing left to take, and nothing to tell.
  const last = copy.store.local?.lastSeq
  copy.awaited.copyFrom(former.store)
  expect(copy.store.local?.lastSeq).toBe(last)
})

test('a message that is here already is read at once', () => {
  const [former, copy] = [formerly(), new Copy()]
  copy.enter('bob', 'box')
  copy.say('m_1')
  copy.awaited.copyFrom(former.store)
  expect(copy.readAt('bob', 'm_1')).toBe(100)
})

test('another agent of the same name has read nothing', () => {
  const [former, copy] = [formerly(), new Copy()]
  copy.enter('bob', 'box', 'a_other')
  copy.awaited.copyFrom(former.store)
  copy.say('m_1')
  expect(copy.unread('bob')).toEqual(['m_1'])
})

test('an agent that is at home elsewhere by now is told of once it comes back', () => {
  const [former, copy] = [formerly(), new Copy()]
  copy.enter('bob', 'laptop')
  copy.awaited.copyFrom(former.store)
  copy.say('m_1')
  expect(copy.readAt('bob', 'm_1')).toBeUndefined()
  copy.apply({ type: 'agent.homed', agent: 'bob', machine: 'box', epoch: 2 })
  expect(copy.readAt('bob', 'm_1')).toBe(100)
})

test('what is still awaited goes along into the next copy, after a second failover', () => {
  const [former, second, third] = [formerly(), new Copy(), new Copy()]
  second.enter('bob', 'box')
  second.awaited.copyFrom(former.store)
  second.say('m_1')
  expect(second.readAt('bob', 'm_1')).toBe(100)
  third.enter('bob', 'box')
  third.store.copyLocalEntries(second.store.local?.entriesAfter(0) ?? [], third.store.journal.lastSeq)
  third.awaited.copyFrom(second.store)
  for (const id of ['m_1', 'm_2', 'm_3']) third.say(id)
  expect(third.unread('bob')).toEqual(['m_2'])
})
