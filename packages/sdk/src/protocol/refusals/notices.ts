// The refusals about notices, by which an agent is told once about another agent.

import type { RefusalDetails } from './fixes.ts'
import { busyKind, notFoundKind, usageKind } from './kinds.ts'

export const noticeRefusals = {
  'notice.yourself': { ...usageKind, text: () => 'You cannot be told of yourself. Name another agent.' },
  'notice.not-sent': {
    ...usageKind,
    text: (d: RefusalDetails) => `The message ${d.message} was not sent to ${d.agent}. Name one that was, or none.`,
  },
  'notice.none': { ...notFoundKind, text: (d: RefusalDetails) => `You have not asked to be told of ${d.agent}.` },
  'notice.too-many': {
    ...busyKind,
    text: (d: RefusalDetails) => `${d.count} notices are awaited here, which is the most.`,
  },
  'notice.too-many-yours': {
    ...busyKind,
    text: (d: RefusalDetails) => `You wait for ${d.count} notices, which is the most that one agent may.`,
  },
}
