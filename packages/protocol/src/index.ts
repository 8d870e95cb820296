// The public names of `@agent-relay/protocol`. All of it is the SDK's; here it has the names that the protocol was first given.

export * from './framing.ts'
export type * from './types.ts'
