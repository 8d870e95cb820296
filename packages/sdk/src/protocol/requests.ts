// Requests: operations that one machine of a shared workspace asks another machine to carry out, because only that machine can. A machine carries out a kind of
// request only after its owner has allowed it for the asking machine.

/** The kinds of requests, each allowed or refused as a whole. The texts continue a sentence that begins "does not let laptop …". */
export const requestTexts = {
  approve: 'answer its approvals',
  release: 'release, pause, resume or interrupt its workers',
} as const

export type RequestKind = keyof typeof requestTexts

export const requestKinds = Object.keys(requestTexts) as RequestKind[]
