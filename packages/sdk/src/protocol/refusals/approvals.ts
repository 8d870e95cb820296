// The refusals about approvals, and about operations that only a person may use.

import type { RefusalDetails } from './fixes.ts'
import { conflictKind, deniedKind, notFoundKind } from './kinds.ts'

export const approvalRefusals = {
  'approval.unknown': {
    ...notFoundKind,
    text: (d: RefusalDetails) => `There is no approval ${d.id}.`,
  },
  'approval.closed': { ...conflictKind, text: (d: RefusalDetails) => `${d.why}.` },
  'approval.changed': {
    ...conflictKind,
    text: (d: RefusalDetails) => `The answer does not fit approval ${d.id}: look at it again.`,
  },
  'approval.choice': {
    ...conflictKind,
    http: 400,
    exit: 2,
    text: (d: RefusalDetails) => `Approval ${d.id} cannot be answered so. ${d.why}`,
  },
  'approval.not-yours': {
    ...deniedKind,
    text: (d: RefusalDetails) => `Approval ${d.id} is for a person to answer, on the page or at a terminal: ${d.why}.`,
  },
  'approval.elsewhere': {
    ...deniedKind,
    text: (d: RefusalDetails) =>
      `Approval ${d.id} is asked for on ${d.machine}, and only that machine lets its programs go on. Answer it there.`,
  },
  'approval.too-many': {
    retry: true,
    http: 503,
    exit: 75,
    text: (d: RefusalDetails) => `There are ${d.count} open approvals, which is the most. A person has to answer some.`,
  },
  'person.required': {
    ...deniedKind,
    text: (d: RefusalDetails) =>
      `This is for a person at a terminal of their own: ${d.why}. Run it there, outside of any agent.`,
  },
}
