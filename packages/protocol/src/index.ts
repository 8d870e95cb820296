// The public names of `@agent-relay/protocol`. All of them are re-exported from the SDK.

export * from './framing.ts'
export type * from './types.ts'
