// A recording without written texts: names and times stay, texts and commands do not.

import { expect, test } from 'vitest'
import { recordingLine } from '../src/internal/recording.ts'
import type { RelayEvent } from '../src/protocol/events.ts'

const event = (type: string, fact: object): RelayEvent =>
  ({ seq: 7, ts: '2026-01-01T00:00:00Z', by: 'Ann', type, fact }) as RelayEvent

test.each([
  [
    'approval.opened',
    { id: 'ap_1', agent: 'Ann', tool: 'Bash', input: 'curl -H secret', choices: [{ label: 'secret' }] },
  ],
  ['approval.closed', { id: 'ap_1', agent: 'Ann', how: 'answered', words: 'the secret stays' }],
  ['worker.wished', { id: 'w_1', worker: 'Ann', command: ['run', '--key', 'secret'], args: ['secret'] }],
  ['run.completed', { id: 'run_1', agent: 'Ann', summary: 'secret' }],
])('%s', (type, fact) => {
  expect(recordingLine(event(type, fact), false)).toContain('secret')
  const bare = recordingLine(event(type, fact), true)
  expect(bare).not.toContain('secret')
  expect(JSON.parse(bare)).toMatchObject({ seq: 7, by: 'Ann', type, fact: { id: (fact as { id: string }).id } })
})
