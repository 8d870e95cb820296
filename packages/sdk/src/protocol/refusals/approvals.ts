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
    text: (d: RefusalDetails) =>
      `The answer was given to another version of approval ${d.id}. Look at the approval again, then answer.`,
  },
  'approval.choice': {
    ...conflictKind,
    http: 400,
    exit: 2,
    text: (d: RefusalDetails) => `Approval ${d.id} cannot be answered that way. ${d.why}`,
  },
  'approval.not-yours': {
    ...deniedKind,
    text: (d: RefusalDetails) => `Approval ${d.id} is for a person to answer, on the page or at a terminal: ${d.why}.`,
  },
  'approval.elsewhere': {
    ...deniedKind,
    text: (d: RefusalDetails) =>
      `Approval ${d.id} belongs to a program on ${d.machine}, and only that machine can give the program an answer. Answer it there.`,
  },
  'approval.too-many': {
    retry: true,
    http: 503,
    exit: 75,
    text: (d: RefusalDetails) =>
      `There are ${d.count} open approvals, which is the maximum. A person has to answer some.`,
  },
  'person.required': {
    ...deniedKind,
    text: (d: RefusalDetails) =>
      `This is for a person at a terminal of their own: ${d.why}. Run it there, outside of any agent.`,
  },
}
