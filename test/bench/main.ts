// `npm run bench`: measures speed and weight, as medians of interleaved rounds, and prints one table. `--help` says how it is used.

import { type ChildProcess, fork } from 'node:child_process'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { nearestNames } from 'agent-relay/dist/core/nearest.js'
import { parts } from './parts.ts'
import { failedRow, isFailure, type Measure, print } from './table.ts'

const help = `Usage: npm run bench -- [options]

Measures speed and weight, and prints one table. Each ratio is to a floor of the same run, on the same machine. A missed
ratio, or a part that fails, ends it with 1. A row that says "over" has an absolute limit, which a slow machine misses.

Options:
  --only a,b   run these parts only; the option may be repeated
  --short      fewer rounds and smaller workspaces, for work on the code; its figures are rough
  --list       list the parts
  --json       print the rows as JSON
  --help       show this help

Examples:
  npm run bench
  npm run bench -- --short --only sends,start
  npm run bench -- --only others --json
`

const usageExit = 2
const options = {
  only: { type: 'string', multiple: true },
  short: { type: 'boolean' },
  list: { type: 'boolean' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

function main(): Promise<void> | undefined {
  try {
    const { values } = parseArgs({ options })
    const { help: isHelp, list, only } = values
    if (isHelp) return void process.stdout.write(help)
    if (list) return void process.stdout.write(listText())
    const usual = Object.keys(parts).filter((name) => !parts[name]?.isByHand)
    return measureAll(only === undefined ? usual : namedIn(only), values)
  } catch (error) {
    // An unknown option, or a part that does not exist.
    process.stderr.write(`bench: ${(error as Error).message}\nbench: all options: npm run bench -- --help\n`)
    process.exitCode = usageExit
  }
}

function listText(): string {
  const width = Math.max(...Object.keys(parts).map((name) => name.length))
  const lines = Object.entries(parts).map(
    ([name, { text, isByHand }]) => `${name.padEnd(width)}  ${text}${isByHand ? ' (only with --only)' : ''}\n`,
  )
  return lines.join('')
}

function namedIn(only: string[]): string[] {
  const named = only.flatMap((each) => each.split(',')).map((each) => each.trim())
  const names = named.filter((each) => each !== '')
  if (names.length === 0) throw new Error('--only names no part. To see all: npm run bench -- --list')
  for (const name of names) {
    if (Object.hasOwn(parts, name)) continue
    const [nearest] = nearestNames(name, Object.keys(parts))
    const guess = nearest === undefined ? '' : ` Did you mean ${nearest}?`
    throw new Error(`there is no part "${name}".${guess} To see all: npm run bench -- --list`)
  }
  return [...new Set(names)]
}

async function measureAll(names: string[], { short = false, json = false }): Promise<void> {
  const measures: Measure[] = []
  for (const name of names) {
    const from = performance.now()
    const found = await measurePart(name, short)
    measures.push(...found)
    process.stderr.write(`bench: ${name} took ${((performance.now() - from) / 1_000).toFixed(1)} s\n`)
    if (isEnding) break
  }
  process.stdout.write(`${json ? JSON.stringify(measures, null, 2) : print(measures)}\n`)
  process.exitCode = isEnding ? 130 : measures.some(isFailure) ? 1 : 0
}

let running: ChildProcess | undefined
let isEnding = false
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    // What was measured so far is printed. A second signal does not wait for that.
    if (isEnding) process.exit(130)
    isEnding = true
    running?.kill('SIGTERM')
  })

/** Runs a part in a process of its own, whose end in any way is a row: the rows of the other parts are worth having. */
async function measurePart(name: string, isShort: boolean): Promise<Measure[]> {
  const path = fileURLToPath(new URL('part.js', import.meta.url))
  const child = fork(path, [name, isShort ? '--short' : ''], { stdio: ['ignore', 'inherit', 'pipe', 'ipc'] })
  running = child
  let measures: Measure[] | undefined
  let said = ''
  child.on('message', (message: { measures: Measure[] }) => (measures = message.measures))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    process.stderr.write(text)
    said = `${said}${text}`.slice(-10_000)
  })
  const why = await new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, signal) => resolve(causeIn(said) ?? endOf(code, signal)))
  })
  return measures ?? [failedRow(name, isEnding ? 'it was stopped' : why)]
}

/** The error in what Node prints of one that nobody has caught. */
function causeIn(said: string): string | undefined {
  return said
    .match(/^(?:\w*Error\b.*|.*\[cause\]: .*)$/gm)
    ?.at(-1)
    ?.trim()
}

function endOf(code: number | null, signal: NodeJS.Signals | null): string {
  return signal === null
    ? `its process ended with ${code}`
    : `its process ended by ${signal} (${constants.signals[signal]})`
}

await main()
