// The public names of `@agent-relay/protocol`: code of the SDK, exported under the names of the protocol's first version.

export * from './framing.ts'
export type * from './types.ts'
