// The refusals about claims on files.

import type { RefusalDetails } from './fixes.ts'
import { conflictKind, deniedKind, notFoundKind } from './kinds.ts'

export const claimRefusals = {
  'claim.held': { ...conflictKind, text: (d: RefusalDetails) => `${d.holder} has claimed ${d.file} since ${d.since}.` },
  'claim.none': { ...notFoundKind, text: (d: RefusalDetails) => `Nobody has claimed ${d.file}.` },
  'claim.not-yours': {
    ...deniedKind,
    text: (d: RefusalDetails) => `${d.holder} has claimed ${d.file}. Only ${d.holder} and people may drop that claim.`,
  },
  'claim.outside': {
    ...conflictKind,
    http: 400,
    exit: 2,
    text: (d: RefusalDetails) => `${d.file} is not a file of a git checkout, so it cannot be claimed.`,
  },
  'claim.too-many': {
    retry: true,
    http: 503,
    exit: 75,
    text: (d: RefusalDetails) =>
      `There are ${d.count} claims, which is the maximum. Drop some, or wait until they end.`,
  },
  'claim.too-many-yours': {
    retry: true,
    http: 503,
    exit: 75,
    text: (d: RefusalDetails) =>
      `${d.agent} has ${d.count} claims, and one agent may have ${d.max}. Drop some, or wait until they end.`,
  },
  'claim.no-answer': {
    retry: true,
    http: 503,
    exit: 75,
    text: (d: RefusalDetails) =>
      `The file system does not answer for ${d.file}, so it cannot be claimed or dropped now.`,
  },
}
