// The process of one part of the benchmark: runs it, and tells main.ts what it has found.

import { parts } from './parts.ts'

const [name = '', isShort] = process.argv.slice(2)
// A signal ends it by the usual way, on which its children and folders are removed.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
process.once('disconnect', () => process.exit(130))
const measures = await parts[name]?.run(isShort === '--short')
process.send?.({ measures }, () => process.exit())
