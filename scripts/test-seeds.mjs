// `npm run test:seeds -- DIR [WORDS]`: runs every example of the documents that asked for this system, as it is written there, against relays of this
// checkout, and prints a line for each. DIR holds the documents; nothing of their text is in this repository. WORDS choose the examples that have one
// of them in their name.
// Not part of `npm test`: it installs the SDK of MCP from npm. Exit code 1 means that an example did other than its table in test/seeds says.
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as commands from '../test/seeds/commands.mjs'
import * as contracts from '../test/seeds/contracts.mjs'
import { documentsIn } from '../test/seeds/documents.mjs'
import * as injection from '../test/seeds/injection.mjs'
import * as lift from '../test/seeds/lift.mjs'
import * as mcpPackage from '../test/seeds/package.mjs'
import * as workspace from '../test/seeds/workspace.mjs'

const tables = [mcpPackage, commands, contracts, workspace, lift, injection]

const [folder, ...words] = process.argv.slice(2)
const say = (text) => process.stdout.write(`${text}\n`)
let documents
try {
  if (!folder || !existsSync(folder))
    throw new Error(folder ? `there is no ${folder}` : 'it takes the folder of the documents')
  documents = documentsIn(folder)
} catch (error) {
  process.stderr.write(`test:seeds: ${error.message}. npm run test:seeds -- DIR\n`)
  process.exit(1)
}

/** Runs an example. It answers nothing if it ran unchanged, else what had to be changed, or `refused: ` and the reason. It throws if it failed. */
async function resultOf(example, run) {
  try {
    const why = await example.run(run)
    if (why === undefined) return { result: 'unchanged', why }
    return why.startsWith('refused: ') ? { result: 'refused', why: why.slice(9) } : { result: 'with a change', why }
  } catch (error) {
    return { result: 'failed', why: error.message.trim().split('\n').slice(0, 4).join(' / ') }
  }
}

const place = mkdtempSync(join(tmpdir(), 'seeds-'))
const counts = {}
let surprises = 0
try {
  const run = { place, documents }
  const isChosen = ({ document, example }) =>
    words.length === 0 || words.some((word) => `${document} ${example}`.includes(word))
  const chosen = tables.flatMap(({ examples }) => examples).filter(isChosen)
  for (const example of chosen) {
    const { result, why } = await resultOf(example, run)
    const expected = example.expected ?? 'unchanged'
    counts[result] = (counts[result] ?? 0) + 1
    if (result !== expected) surprises++
    const note = result === expected ? '' : ` (expected: ${expected})`
    say(`${example.document}  ${example.example}: ${result}${why ? `: ${why}` : ''}${note}`)
  }
  const totals = Object.entries(counts).map(([result, count]) => `${count} ${result}`)
  say(`\n${chosen.length} examples: ${totals.join(', ')}; ${surprises} other than expected`)
} finally {
  for (const { close } of tables) await close?.()
  rmSync(place, { recursive: true, force: true })
}
process.exitCode = surprises > 0 || Object.keys(counts).length === 0 ? 1 : 0
