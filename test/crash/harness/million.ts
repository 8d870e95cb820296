// A workspace with very many messages: written by the store itself, entry and rows together, in large transactions.

import type { Fact } from '@agent-relay/sdk/protocol'
import { makeIds } from '@agent-relay/sdk/wire'
import { Store } from '../../../packages/relay/src/store/store.ts'

const perCommit = 5_000
const talkers = 10
/** One entry in this many marks a message as read, which concerns two agents. */
const readEvery = 10

/** One agent is in every conversation from its first message on, another is in one small conversation. */
export const overseer = 'overseer'
export const recluse = 'recluse'
export const smallRoom = '#small'
export const roomOf = (i: number): string => `#room-${i}`

/** `conversations` rooms with `messages` in all; every message holds the word `common`. The workspace must have begun, and be closed. */
export function fill(path: string, messages: number, conversations: number): void {
  const store = new Store(path)
  const ids = makeIds()
  const numbers = new Map<string, number>()
  const names = Array.from({ length: talkers }, (_, i) => `talker-${i}`)
  const append = (by: string, facts: Fact[], body?: string) =>
    store.append({ at: Date.now(), by, cause: ids('c'), facts, rule: 'test', outcome: {}, body })
  const say = (from: string, conversation: string, body: string): string => {
    const [id, n] = [ids('m'), (numbers.get(conversation) ?? 0) + 1]
    numbers.set(conversation, n)
    append(from, [{ type: 'message.created', id, conversation, n, from, kind: 'free' }], body)
    return id
  }
  const enter = (channel: string, agent: string): Fact => ({ type: 'channel.joined', channel, agent, n: 0 })
  store.transact(() => {
    for (const name of [...names, overseer, recluse])
      append(name, [{ type: 'agent.registered', id: ids('a'), agent: { name, type: 'agent' } }])
    append(recluse, [{ type: 'channel.created', channel: smallRoom }, enter(smallRoom, recluse)])
    for (let i = 0; i < conversations; i++) {
      const channel = roomOf(i)
      const joined = [overseer, ...names].map((name) => enter(channel, name))
      append(overseer, [{ type: 'channel.created', channel }, ...joined])
    }
  })
  for (let done = 0; done < messages; done += perCommit) {
    store.transact(() => {
      let said: Fact[] = []
      for (let i = done; i < Math.min(messages, done + perCommit); i++) {
        const from = names[i % talkers] as string
        const id = say(
          from,
          roomOf(i % conversations),
          `common word of ${from}, the ${i}th of them, n${i % 97} in its turn`,
        )
        if (i % readEvery === 0)
          said.push({ type: 'delivery.read', message: id, agent: names[(i + 1) % talkers] as string })
        if (said.length === readEvery) append(names[(i + 1) % talkers] as string, said)
        if (said.length === readEvery) said = []
      }
      if (done % (messages / 10) === 0) say(recluse, smallRoom, 'common and rare: a heron')
    })
  }
  store.close()
}
