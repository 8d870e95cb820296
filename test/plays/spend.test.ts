// Spend for programs, on every link: no sight of others' spend, and no way to report one's own.

import { expect } from 'vitest'
import { play, refused } from './play.ts'

const nothing = { tokens: { input: 0, output: 0, cached: 0 }, turns: 0 }

play('who has spent nothing sees an empty list, however it is added up', async ({ ada, bob }) => {
  for (const by of ['agent', 'run', 'model', 'day'] as const)
    expect(await ada.call('spend.list', { by })).toEqual({ by, spend: [], total: nothing })
  expect(await bob.call('spend.list', {})).toEqual({ by: 'agent', spend: [], total: nothing })
  await refused(
    bob.call('spend.note' as never, { tokens: nothing.tokens } as never),
    'operation.unknown',
    /spend\.note/,
  )
})
