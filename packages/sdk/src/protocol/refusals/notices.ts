// The refusals about notices, by which an agent is told once about another agent.

import type { RefusalDetails } from './fixes.ts'
import { busyKind, notFoundKind, usageKind } from './kinds.ts'

export const noticeRefusals = {
  'notice.yourself': { ...usageKind, text: () => 'You cannot ask for notices about yourself. Name another agent.' },
  'notice.not-sent': {
    ...usageKind,
    text: (d: RefusalDetails) =>
      `The message ${d.message} was not sent to ${d.agent}. Name a message that was, or no message.`,
  },
  'notice.none': { ...notFoundKind, text: (d: RefusalDetails) => `You have not asked for a notice about ${d.agent}.` },
  'notice.too-many': {
    ...busyKind,
    text: (d: RefusalDetails) => `${d.count} notices are awaited in this workspace, which is the maximum.`,
  },
  'notice.too-many-yours': {
    ...busyKind,
    text: (d: RefusalDetails) => `You wait for ${d.count} notices, which is the maximum for one agent.`,
  },
}
