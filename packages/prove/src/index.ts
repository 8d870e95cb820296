// The public names of `@agent-relay/prove`, for `agent-relay prove`. Tests also use the harness and the scenarios, which have addresses of their own.

export type { TriedRelay } from './harness/tried-relay.ts'
export { type PromiseName, promiseNames, promises, type Size, usualSize } from './promises.ts'
export { type Proof, prove } from './prove.ts'
