// Requests: what one machine of a shared workspace may ask of another machine, because only that machine can do it. Nothing is allowed until the owner of the
// asked machine has allowed it on that machine.

/** The kinds of requests, each allowed or refused as a whole. The texts complete a sentence that begins "does not let laptop …". */
export const requestTexts = {
  approve: 'answer its approvals',
  release: 'release, pause, resume or interrupt its workers',
} as const

export type RequestKind = keyof typeof requestTexts

export const requestKinds = Object.keys(requestTexts) as RequestKind[]
