// Runs the tests, by vitest's filters and options; --config=FILE runs another suite. The last lines name what passed only when tried again.
import { fileURLToPath } from 'node:url'
import { parseCLI } from 'vitest/node'
import { runSteadily } from './steady.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)])
const { isGood, unsteady } = await runSteadily(filter, { root, ...options })
for (const line of unsteady) process.stderr.write(`unsteady: ${line}\n`)
process.exit(isGood ? 0 : 1)
