// Rows of the table of facts (stored events) about notices that agents ask for. The asker's home machine watches for the occasion and tells the asker.

import { NoticeOccasion } from '@agent-relay/sdk/protocol'
import { keys } from '../conflict-keys.ts'
import type { FactRow, FactRows } from './row.ts'
import { count, label, maybe, oneOf, text } from './shape.ts'

const ofOne = { asker: label, agent: label, when: oneOf(...NoticeOccasion.options), message: maybe(text) }

const own = {
  said: ({ asker }, { speaksFor }) => speaksFor(asker),
  seen: { to: 'agents', who: ({ asker }) => [asker] },
  writes: () => [keys.notices],
} as const satisfies Omit<FactRow<{ asker: string }>, 'shape' | 'over'>

export const noticeFacts: FactRows<'notice.asked' | 'notice.ended'> = {
  'notice.asked': { ...own, shape: { ...ofOne, after: count }, over: { once: (fact, left) => !left.isAwaited(fact) } },
  'notice.ended': { ...own, shape: { ...ofOne, why: oneOf('told', 'dropped', 'retired') }, over: 'old' },
}
