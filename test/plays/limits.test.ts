// Input that is too large, or not text: refused with a fix.

import { limits } from '@agent-relay/sdk/protocol'
import { expect } from 'vitest'
import { pairPerMinuteMax } from '../../packages/relay/src/broker/messages/sending.ts'
import { inProcessConnector } from '../../packages/relay/tests/in-process-connector.ts'
import { play, playInProcess, refused } from './play.ts'

play('a body with U+0000 is refused, anything else comes as it was sent', async ({ ada, bob }) => {
  await refused(ada.send('bob', 'a\0b'), 'input.invalid', /body: must not contain the character U\+0000/)
  await refused(ada.send('bob', 'x', { thread: 'a\0b' }), 'input.invalid', /thread: must be one line/)
  await refused(ada.send('bob', ''), 'input.invalid', /a message needs a body/)
  await refused(ada.send('', 'hi'), 'input.invalid', /to: an address is the name of an agent, "#channel", or "\*"/)
  const odd = 'line\nbreak \t "quotes" \\ 🦉 e\u0301 \u2028 \ufeff \u0001'
  await ada.send('bob', odd)
  await bob.takes(odd)
})

play('a body of 256 KiB passes, one byte more does not', async ({ ada, bob }) => {
  const full = 'x'.repeat(limits.bodyBytesMax)
  await ada.send('bob', full)
  await refused(ada.send('bob', `${full}x`), 'input.invalid', /at most 256 KiB: write the rest to a file/)
  // Bytes count, not characters.
  await refused(ada.send('bob', '€'.repeat(limits.bodyBytesMax / 3 + 1)), 'input.invalid', /at most 256 KiB/)
  await ada.send('bob', '€'.repeat(Math.floor(limits.bodyBytesMax / 3)))
  expect((await bob.call('inbox.take', { limit: 1 })).more).toBe(1)
})

play('an operation that is not in the table is refused', async ({ ada }) => {
  await refused(ada.call('inbox.burn' as 'inbox.take', {}), 'operation.unknown', /no operation "inbox.burn"/)
  await refused(ada.call('__proto__' as 'inbox.take', {}), 'operation.unknown', /__proto__/)
  // The daemon's own operations are not a workspace's.
  await refused(ada.call('daemon.stop', {}), 'operation.unknown', /daemon\.stop/)
  await refused(ada.call('workspace.list', {}), 'operation.unknown', /workspace\.list/)
  await refused(ada.call('inbox.take', { limit: 0 }), 'input.invalid', /limit/)
  await refused(ada.call('inbox.take', 'all of it' as never), 'input.invalid', /Invalid input for inbox\.take/)
})

playInProcess('two models that thank each other for ever are stopped for a while', async ({ ada, clock, house }) => {
  const dispatch = house.dispatch('main')
  const model = async (name: string) => {
    const link = await inProcessConnector(dispatch, { door: 'owner', kind: 'model' })({ name })
    let turns = 0
    return (to: string) => {
      const turn = link.turn(`${name}-${turns++}`)
      return turn.call('message.send', { to, body: 'thank you' }).finally(() => turn.answered())
    }
  }
  const [mia, max] = [await model('mia'), await model('max')]
  for (let i = 0; i < pairPerMinuteMax / 2; i++) {
    await mia('max')
    await max('mia')
  }
  const error = await refused(
    mia('max'),
    'message.too-many',
    /40 messages between you and max within a minute.*go on in 60 s/,
  )
  expect(error.retry).toBe(true)
  // The limit counts neither other pairs nor programs.
  await mia('ada')
  await ada.send('mia', 'a program')
  await clock.passes(59_000)
  await refused(max('mia'), 'message.too-many', /go on in 1 s/)
  await clock.passes(1_000)
  await max('mia')
})
