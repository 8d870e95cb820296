// Requests: what one machine of a shared workspace may ask of another, because only that other one can do it. Nothing is allowed before the
// owner of the other machine has said so there.

/** The kinds of requests, each allowed as a whole, in words that end "does not let laptop …". */
export const requestTexts = {
  approve: 'answer its approvals',
  release: 'release, pause or resume its workers',
} as const

export type RequestKind = keyof typeof requestTexts

export const requestKinds = Object.keys(requestTexts) as RequestKind[]
