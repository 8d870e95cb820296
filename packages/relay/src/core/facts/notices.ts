// Rows of the table of facts (stored events) about notices that agents ask for. The asker's home machine watches for the occasion and tells the asker.

import { NoticeOccasion } from '@agent-relay/sdk/protocol'
import { conflictKeys } from '../conflict-keys.ts'
import type { FactRow, FactRows } from './row.ts'
import { isCount, isLabel, isOneOf, isText, optional } from './shape.ts'

const ofOne = { asker: isLabel, agent: isLabel, when: isOneOf(...NoticeOccasion.options), message: optional(isText) }

const own = {
  mayAppend: ({ asker }, { speaksFor }) => speaksFor(asker),
  audience: { to: 'agents', agentNames: ({ asker }) => [asker] },
  changedKeys: () => [conflictKeys.notices],
} as const satisfies Omit<FactRow<{ asker: string }>, 'shape' | 'prunableWhen'>

export const noticeFacts: FactRows<`notice.${string}`> = {
  'notice.asked': {
    ...own,
    shape: { ...ofOne, after: isCount },
    prunableWhen: { oldAnd: (fact, left) => !left.isNoticeAwaited(fact) },
  },
  'notice.ended': { ...own, shape: { ...ofOne, why: isOneOf('told', 'dropped', 'retired') }, prunableWhen: 'old' },
}
