// What `agent-relay prove` uses of this package. Tests also use the harness and the scenarios, which have addresses of their own.

export { type PromiseName, promiseNames, promises, type Size, usualSize } from './promises.ts'
export { type Proof, prove } from './prove.ts'
