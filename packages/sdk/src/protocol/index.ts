// The protocol's public names: words, facts, operations, refusals, frames and ids.

export * from './agent-status.ts'
export * from './facts.ts'
export * from './frames.ts'
export * from './ids.ts'
export * from './limits.ts'
export * from './operations.ts'
export * from './refusals.ts'
export * from './terminal.ts'
export * from './tools.ts'
export * from './words.ts'
