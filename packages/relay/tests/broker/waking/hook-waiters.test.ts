// Lines to the waiters of hooks: written to their fifo, whatever time has passed, and to nothing else that may lie in its place.

import { execFileSync } from 'node:child_process'
import { closeSync, constants, existsSync, openSync, readFileSync, readSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { PlayClock } from '../../../../../test/plays/clock.ts'
import { DaemonHouse } from '../../../../../test/plays/houses.ts'
import { until } from '../../../../../test/until.ts'
import { sharedReads } from '../../../src/broker/long-reads.ts'

const host = 4_000_001
let clock: PlayClock
let house: DaemonHouse
let fifo: number
beforeEach(async () => {
  clock = new PlayClock()
  house = await DaemonHouse.start(clock)
  await house.open('play')
  execFileSync('mkfifo', [at(`${host}.7`)])
  fifo = openSync(at(`${host}.7`), constants.O_RDWR | constants.O_NONBLOCK)
})
afterEach(async () => {
  closeSync(fifo)
  await house.close()
})

const at = (name: string) => join(house.dataDir, 'hooks', name)

function heard(): string {
  const bytes = Buffer.alloc(1024)
  try {
    return bytes.toString('utf8', 0, readSync(fifo, bytes))
  } catch {
    return ''
  }
}

/** Looking takes some turns of the event loop, on a busy machine more of them. */
async function hears(line: string): Promise<void> {
  await clock.passes(100)
  let text = ''
  await until(() => {
    text = heard()
    return text !== ''
  })
  expect(text).toBe(line)
}

/** The sender, and the agent whose program has a waiter. */
async function pair() {
  const connect = house.connector('play')
  const [lead, bob] = [await connect({ name: 'Lead' }), await connect({ name: 'Bob', host })]
  await clock.passes(100)
  let n = 0
  const send = (body: string) => lead.call('message.send', { to: 'Bob', body }, `c_${n++}`)
  return { lead, bob, send }
}

test('2,000 idle minutes are silent, and a message is told after them', async () => {
  const { lead, bob, send } = await pair()
  await clock.passes(2_000 * 60_000)
  expect(heard()).toBe('')
  await send('still there?')
  await hears('mail\n')
  await Promise.all([lead.close(), bob.close()])
})

test('a line that was lost is written again, until the mail is taken', async () => {
  const { lead, bob, send } = await pair()
  await send('one')
  await hears('mail\n')
  await clock.passes(30_900)
  await hears('mail\n')
  const { messages } = await bob.call('inbox.take', { route: 'hook' }, 'c_take')
  await bob.call('inbox.offer', { route: 'rewake', messages: messages.map(({ id }) => id) }, 'c_offer')
  await clock.passes(120_000)
  expect(heard()).toBe('')
  await Promise.all([lead.close(), bob.close()])
})

test('over a thousand messages that were shown and not read are no mail', async () => {
  const { lead, bob, send } = await pair()
  await Promise.all(Array.from({ length: 1_010 }, (_, i) => send(`note ${i}`)))
  for (let shown = 0; shown < 1_010; ) {
    const { messages } = await bob.call('inbox.take', { route: 'hook', limit: 100 }, `c_take${shown}`)
    await bob.call('inbox.offer', { route: 'rewake', messages: messages.map(({ id }) => id) }, `c_offer${shown}`)
    shown += messages.length
  }
  heard()
  await clock.passes(120_000)
  expect(heard()).toBe('')
  await send('one more')
  // A look that had begun before the message may not have seen it, and the next one comes by the clock.
  await until(async () => {
    await clock.passes(100)
    return heard() !== ''
  })
  await Promise.all([lead.close(), bob.close()])
})

test('a message is looked for in the inboxes of those who got it, and in no others', async () => {
  const connect = house.connector('play')
  const [lead, ...many] = await Promise.all(
    Array.from({ length: 40 }, (_, n) => connect({ name: `Agent${n}`, host: n === 0 ? undefined : host + n })),
  )
  for (let n = 1; n < 40; n++) execFileSync('mkfifo', [at(`${host + n}.7`)])
  await clock.passes(100)
  const looks = vi.spyOn(sharedReads, 'run')
  onTestFinished(() => looks.mockRestore())
  const looked = async (times: number) => {
    await until(async () => {
      await clock.passes(100)
      return looks.mock.calls.length >= times
    })
    await clock.passes(100)
    expect(looks).toHaveBeenCalledTimes(times)
  }
  await lead?.call('message.send', { to: 'Agent7', body: 'for one' }, 'c_one')
  await looked(1)
  await lead?.call('channel.create', { channel: '#build' }, 'c_make')
  await Promise.all(many.slice(0, 3).map((agent, n) => agent.call('channel.join', { channel: '#build' }, `c_join${n}`)))
  await lead?.call('message.send', { to: '#build', body: 'for three' }, 'c_three')
  await looked(4)
})

test('mail that waited is told when the agent comes; mail for others never', async () => {
  const connect = house.connector('play')
  const [lead, early] = [await connect({ name: 'Lead' }), await connect({ name: 'Bob' })]
  await early.close()
  await connect({ name: 'Ann' })
  await lead.call('message.send', { to: 'Bob', body: 'for later' }, 'c_1')
  await clock.passes(100)
  expect(heard()).toBe('')
  const bob = await connect({ name: 'Bob', host })
  await hears('mail\n')
  await bob.call('inbox.take', {}, 'c_2')
  await lead.call('message.send', { to: 'Ann', body: 'not for Bob' }, 'c_3')
  await clock.passes(100)
  expect(heard()).toBe('')
})

test('hooks are told when nothing waits for any agent of their program, in whichever workspace', async () => {
  const isQuiet = () => existsSync(at(`quiet.${host}`))
  const quiet = () =>
    until(async () => {
      await clock.passes(31_000)
      return isQuiet()
    })
  const { lead, bob, send } = await pair()
  await quiet()
  await send('one')
  expect(isQuiet()).toBe(false)
  await clock.passes(31_000)
  expect(isQuiet()).toBe(false)
  const { messages } = await bob.call('inbox.take', { route: 'hook' }, 'c_take')
  await bob.call('inbox.offer', { route: 'hook', messages: messages.map(({ id }) => id) }, 'c_offer')
  await quiet()
  await lead.call('message.send', { to: '#general', body: 'for all' }, 'c_all')
  await until(async () => {
    await clock.passes(100)
    return !isQuiet()
  })
  await bob.call('inbox.take', {}, 'c_read')
  await bob.call('agent.list', {}, 'c_list')
  await quiet()
  await house.open('other')
  const other = house.connector('other')
  const [ann, far] = [await other({ name: 'Ann', host }), await other({ name: 'Far' })]
  await quiet()
  await far.call('message.send', { to: 'Ann', body: 'elsewhere' }, 'c_far')
  expect(isQuiet()).toBe(false)
  await ann.close()
  await quiet()
  await bob.close()
  await until(() => !isQuiet())
})

test('a file, a link or a fifo that nobody reads is left as it is', async () => {
  const { send } = await pair()
  const victim = join(house.dataDir, 'victim')
  writeFileSync(victim, 'precious')
  writeFileSync(at(`${host}.8`), '')
  symlinkSync(victim, at(`${host}.9`))
  execFileSync('mkfifo', [at(`${host}.10`)])
  await send('hello')
  await hears('mail\n')
  expect([readFileSync(victim, 'utf8'), readFileSync(at(`${host}.8`), 'utf8')]).toEqual(['precious', ''])
})
