// The public names of `@agent-relay/protocol`: the SDK's own code, under the names that the protocol was first given.

export * from './framing.ts'
export type * from './types.ts'
