// The public exports of `@agent-relay/prove`, for the command `agent-relay prove`. Tests also import the harness and the scenarios, at subpaths of the package.

export type { TriedRelay } from './harness/tried-relay.ts'
export { type PromiseName, type ProveSize, promiseNames, promises, proveSizeDefault } from './promises.ts'
export { type Proof, prove } from './prove.ts'
