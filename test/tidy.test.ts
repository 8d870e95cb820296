// The house rules hold in this tree, and each of them is able to fail: one fault planted at a time in a small tidy tree.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { tidy } from '../scripts/tidy.ts'

const sdk = 'packages/sdk/src'
const relay = 'packages/relay/src'
const opening = '// A small part of a planted tree.\n'

const tidyTree: Record<string, string> = {
  [`${sdk}/protocol/operations.ts`]: "export const operations = {\n  'thing.do': {},\n}\n",
  [`${sdk}/protocol/facts.ts`]: "export interface ThingDone {\n  type: 'thing.done'\n}\n",
  [`${sdk}/protocol/refusals.ts`]: "export const refusals = {\n  'thing.unknown': {},\n}\n",
  [`${sdk}/protocol/index.ts`]: "export * from './facts.ts'\n",
  [`${sdk}/internal/clis.ts`]: `export const clis = [${['ada', 'bee', 'cue', 'dot'].map((name) => `{ name: '${name}' }`)}]\n`,
  [`${sdk}/internal/settings.ts`]: 'export const settings = {\n  RELAY_THING: {},\n}\n',
  [`${sdk}/internal/discover.ts`]: "import 'node:fs'\nimport type { ThingDone } from '../protocol/facts.ts'\n",
  [`${sdk}/index.ts`]: "export * from './protocol/index.ts'\n",
  [`${relay}/core/thing.ts`]:
    "import type { ThingDone } from '@agent-relay/sdk/protocol'\n// An async Date in a comment is fine, and 'await' in a string too.\n" +
    "export const refused = 'thing.unknown' // biome-ignore: none\nexport const text = `no Date, await or process.exit here`\n",
  [`${relay}/store/fact-applier.ts`]:
    "import { refused } from '../core/thing.ts'\nexport const done = { 'thing.done': 'INSERT INTO t VALUES (?)' }\n",
  [`${relay}/store/database.ts`]: "import 'node:sqlite'\n",
  [`${relay}/broker/engine.ts`]: "import { done } from '../store/fact-applier.ts'\n",
  [`${relay}/machine/place.ts`]: "import { discover } from '@agent-relay/sdk/internal/discover'\n",
  [`${relay}/daemon/parts/part.ts`]: 'export const partMs = 1\n',
  [`${relay}/daemon/daemon.ts`]:
    "import './parts/part.ts'\nimport '../broker/engine.ts'\nimport '../machine/place.ts'\n",
  'test/plays/thing.test.ts': "play('thing.do')\n",
  'docs/contributing/words.md': '| Engine | carries out commands | | `broker/engine.ts` |\n',
}

const long = (head: string, lines: number, tail = '}') =>
  `${[head, ...Array(lines - 2).fill('  f()'), tail].join('\n')}\n`

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tidy-'))
  for (const [path, text] of Object.entries(tidyTree)) plant(path, opening + text)
})
afterEach(() => rmSync(root, { recursive: true }))

function plant(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}

test('this tree is tidy', () => {
  expect(tidy(fileURLToPath(new URL('..', import.meta.url)))).toEqual([])
})

test('the planted tree is tidy before a fault is planted', () => {
  expect(tidy(root, {})).toEqual([])
})

describe('a planted fault is found', () => {
  test.each<[name: string, path: string, text: string, finding: RegExp]>([
    ['upward import', `${relay}/machine/x.ts`, "import '../broker/engine.ts'", /machine may not import broker/],
    ['a file read by itself', `${relay}/wires/x.ts`, "readFileSync('a')", /use readForeignFile, or say in tidy/],
    ['a stale file reader', `${relay}/machine/trust.ts`, 'export const a = 1', /take it off the list of file readers/],
    [
      'a removal in work',
      `${relay}/work/x.ts`,
      "import {\n  lstatSync,\n  rmSync,\n} from 'node:fs'",
      /work\/x\.ts: takes rmSync of node:fs; only work\/own-files\.ts/,
    ],
    [
      'a write in work',
      `${relay}/work/x.ts`,
      "import { writeFile } from 'node:fs/promises'",
      /takes writeFile of node:fs/,
    ],
    ['all of node:fs in work', `${relay}/work/x.ts`, "import * as fs from 'node:fs'", /takes \* as fs of node:fs/],
    ['node:fs in work, loaded late', `${relay}/work/x.ts`, "await import('node:fs')", /takes import\('node:fs of/],
    [
      'the broker in runs',
      `${relay}/runs/x.ts`,
      "import '../broker/engine.ts'",
      /runs may know .*run-runtime.ts of bro/,
    ],
    ['a wire at the store', `${relay}/wires/x.ts`, "import '../store/fact-applier.ts'", /wires may not import store/],
    ['the client in the broker', `${relay}/broker/x.ts`, "import '@agent-relay/sdk'", /broker may not import sdk/],
    [
      'discovery in the store',
      `${relay}/store/x.ts`,
      "import('@agent-relay/sdk/internal/discover')",
      /store may not import disc/,
    ],
    [
      'configuration in core',
      `${relay}/core/x.ts`,
      "export {\n  a,\n} from '../machine/place.ts'",
      /core may not import machine/,
    ],
    ['node in core', `${relay}/core/x.ts`, "import { join } from 'node:path'", /core may not import elsewhere/],
    [
      'discovery that loads more',
      `${sdk}/internal/discover.ts`,
      "import '../protocol/index.ts'",
      /discover may not import protocol/,
    ],
    ['a setting outside the table', `${sdk}/x.ts`, "setting(env, 'RELAY_NEW')", /x\.ts: RELAY_NEW does not stand in/],
    [
      'a setting read by hand',
      `${sdk}/x.ts`,
      'const a = process.env.RELAY_THING',
      /RELAY_THING is read by setting\(\)/,
    ],
    ['a vendor asked for', `${sdk}/x.ts`, "if (cli === 'ada') f()", /x\.ts: asks for ada/],
    ['a vendor in a switch', `${sdk}/bee/x.ts`, "switch (a) {\n  case 'ada':\n}", /x\.ts: asks for ada/],
    ['a vendor turned around', `${sdk}/bee-x.ts`, "const a = 'ada' !== cli", /bee-x\.ts: asks for ada/],
    ['a vendor as the default', `${sdk}/x.ts`, "const a = cli ?? 'ada'", /asks for ada/],
    ['a vendor in a list', `${sdk}/x.ts`, "if (clis.includes('ada')) f()", /asks for ada/],
    ['CLIs listed again', `${sdk}/x.ts`, "const x = ['ada', 'bee', 'cue', 'dot']", /x\.ts: lists CLIs again/],
    [
      'a limit copied',
      `${sdk}/x.ts`,
      'const partMs = 1',
      /partMs stands in .*part\.ts and .*x\.ts|x\.ts and .*part\.ts/,
    ],
    ['one name for two limits of a room', `${relay}/daemon/x.ts`, 'const partMs = 2', /partMs stands in/],
    ['CLIs named again in a text', `${sdk}/x.ts`, "const x = 'ada, bee, cue or dot'", /x\.ts: lists CLIs again/],
    [
      'a page folder that points back',
      'packages/dashboard/src/store/x.ts',
      "import '../parts/y.tsx'",
      /dashboard.store may not import dashboard.parts/,
    ],
    ['a folder nobody knows', `${relay}/misc/x.ts`, '', /"misc" has no place/],
    ['a cycle', `${sdk}/protocol/facts.ts`, "import './index.ts'\ntype: 'thing.done'", /cycle: .*protocol.facts/],
    [
      'a folder that points back at a file beside it',
      `${relay}/daemon/parts/x.ts`,
      "import '../daemon.ts'",
      /daemon: a folder points back: daemon\.ts → parts → daemon\.ts/,
    ],
    ['await', `${relay}/core/x.ts`, 'await f()', /await is banned/],
    ['async', `${relay}/core/x.ts`, 'const f = async () => 1', /async is banned/],
    ['a clock', `${relay}/core/x.ts`, `const t = \`at \${Date.now()}\``, /Date is banned/],
    ['chance', `${relay}/core/x.ts`, 'const x = Math.random()', /Math.random is banned/],
    ['the process', `${relay}/core/x.ts`, 'const x = process.env.X', /process\. is banned/],
    ['the console', `${relay}/core/x.ts`, "console.log('x')", /console\. is banned/],
    ['the driver of the cluster', `${relay}/daemon/x.ts`, "import('pg')", /names what belongs to .*cluster.postgres/],
    ['a table of the cluster', `${relay}/cluster/x.ts`, "'SELECT FROM relay.keys'", /names what belongs to .*postgres/],
    ['a second driver', `${relay}/store/x.ts`, "import '@photostructure/sqlite'", /SQLite is named in .* and /],
    [
      'a model elsewhere',
      `${relay}/broker/x.ts`,
      "import { streamText } from 'ai'",
      /belongs to packages.relay.src.runs/,
    ],
    [
      'an error of SQLite',
      `${relay}/broker/x.ts`,
      "if (error.code === 'ERR_SQLITE_ERROR') throw error",
      /belongs to packages.relay.src.store/,
    ],
    ['a stray write', `${relay}/store/x.ts`, "sql('update t set a = 1')", /writes rows/],
    ['a stray insert', `${relay}/broker/x.ts`, 'sql(`INSERT OR IGNORE\n INTO t VALUES (1)`)', /writes rows/],
    ['a standing made', `${relay}/wires/x.ts`, "sessions.open({ door: 'owner' })", /makes a standing/],
    ['a standing changed', `${relay}/wires/x.ts`, 'session.agent = 1', /writes to a session/],
    [
      'a rank that is asked',
      `${relay}/broker/x.ts`,
      "if (standing.rank === 'holder') f()",
      /asks for a session's rank/,
    ],
    ['a rank taken out', `${relay}/broker/x.ts`, 'const { rank } = session.standing', /asks for a session's rank/],
    ['a holder that is asked', `${relay}/wires/x.ts`, 'const a = session.isHolder', /asks for a session's rank/],
    ['a standing replaced', `${relay}/wires/x.ts`, 'Object.assign(session, { standing })', /writes to a session/],
    ['a long file', `${sdk}/x.ts`, 'f()\n'.repeat(600), /x\.ts: 601 lines, at most 600/],
    ['a long function', `${sdk}/x.ts`, long('export function f(): void {', 61), /x\.ts#f: 61 lines, at most 60/],
    ['a long method', `${sdk}/x.ts`, `class A {\n${long('  async go<T>(a: T): Promise<T> {', 61, '  }')}}`, /#go: 61/],
    ['a long arrow', `${sdk}/x.ts`, long('export const g = async (a: A) => {', 61), /#g: 61 lines/],
    ['a long head', `${sdk}/x.ts`, long('function h(\n  a: A,\n): B {', 59), /#h: 61 lines/],
    [
      'a fact unhandled',
      `${sdk}/protocol/facts.ts`,
      "type: 'thing.done'\ntype: 'thing.lost'",
      /thing\.lost is applied by no file of the store/,
    ],
    ['an empty table', `${sdk}/protocol/facts.ts`, '', /facts\.ts: missing, or nothing/],
    [
      'a refusal unused',
      `${sdk}/protocol/refusals.ts`,
      "'thing.unknown': {},\n'thing.odd': {",
      /thing\.odd is used nowhere/,
    ],
    [
      'an operation uncited in its folder',
      `${sdk}/protocol/operations/x.ts`,
      "'thing.undo': {",
      /thing\.undo is cited by no/,
    ],
    ['an odd word in a comment', `${sdk}/x.ts`, '// Says the mend.', /x.ts:2: "mend": write fix/],
    ['a person taken for a man or a woman', 'docs/x.md', 'It waits in her inbox.', /x.md:2: "her": write they/],
    ['an odd word in a document', 'docs/x.md', 'Made anew.', /x.md:2: "anew": write again/],
    ['somebody whose affair it is', `${sdk}/x.ts`, "// That is x.ts's affair.", /"affair": write name the file/],
    ['how something fares', 'docs/x.md', 'It says how it fares.', /"how it fares": write status/],
    ['what is none', `${sdk}/x.ts`, '// A file that is none.', /"is none": write not a/],
    ['what one shall do', 'docs/x.md', 'It shall end.', /"shall": write should, or will/],
    ['a conflict left in a document', 'docs/x.md', '<<<<<<< HEAD', /x.md:2: "<<<<<<< ": write what both sides/],
    ['a glossary without words', 'docs/contributing/words.md', 'Text.', /words\.md: missing, or without words/],
    ['a word without a file', 'docs/contributing/words.md', '| Thing | a thing | object |', /"Thing" names no file/],
    [
      'a word whose file is gone',
      'docs/contributing/words.md',
      '| Thing | a thing | | `core/gone.ts` |',
      /names core.gone.ts, which/,
    ],
    ['a speed judged', 'test/x.test.ts', 'expect(tookMs).toBeLessThan(50)', /x\.test\.ts:2: measures the machine/],
    ['a memory judged', `${relay}/../tests/x.test.ts`, 'expect(rssMb).toBeLessThan(80)', /measures the machine/],
    ['a short wait', 'test/x.test.ts', 'await sleep(50)', /waits by a number/],
    ['a short wait by hand', 'test/x.test.ts', 'await new Promise((go) => setTimeout(go, 50))', /waits by a number/],
    ['a loop without a pause', 'test/x.test.ts', "while (said !== 'x') said = await ask()", /asks again at once/],
    ['a limit of its own', 'test/x.test.ts', 'await until(() => isDone, 5_000)', /has a limit of its own/],
    [
      'a test with its own limit',
      'test/x.test.ts',
      "test('x', { timeout: 5_000 }, async () => {})",
      /limit of its own/,
    ],
    ['a module mocked', `${relay}/../tests/x.test.ts`, "vi.mock('node:fs')", /x\.test\.ts: mocks something/],
    ['a module mocked late', 'test/x.test.ts', "vi.doMock('./a.ts', () => fake)", /mocks something; run the real/],
    ['a mock made before the imports', 'test/x.test.ts', 'const a = vi.hoisted(() => 1)', /mocks something/],
    ['a client played by hand', 'test/x.test.ts', 'const client = { send: vi.fn() }', /mocks something/],
    ['an operation uncited', 'test/plays/thing.test.ts', "// 'thing.do'", /thing\.do is cited by no test/],
  ])('%s', (_name, path, text, finding) => {
    plant(path, `${opening}${text}\n`)
    expect(tidy(root, {})).toEqual([expect.stringMatching(finding)])
  })

  test('a word with two meanings', () => {
    plant('docs/contributing/words.md', '| Thing | a thing | | `core/thing.ts` |\n')
    for (const path of [`${relay}/core/thing.ts`, `${sdk}/protocol/x.ts`])
      plant(path, `${opening}export type Thing = 'thing.unknown'\n`)
    expect(tidy(root, {})).toEqual([])
    plant(`${relay}/daemon/x.ts`, `${opening}class Thing {}\n`)
    expect(tidy(root, {})).toEqual([expect.stringMatching(/daemon.x.ts: "Thing" is a word of the glossary/)])
  })

  test('no opening sentence', () => {
    plant(`${sdk}/x.ts`, 'export {}\n')
    expect(tidy(root, {})).toEqual([expect.stringMatching(/must open with a sentence/)])
  })
})

test.each(['ada/x.ts', 'ada-x.ts', 'ada.ts'])('a vendor may ask for itself in %s', (path) => {
  plant(`${sdk}/${path}`, `${opening}export const isAda = (cli: string) => cli === 'ada'\n`)
  expect(tidy(root, {})).toEqual([])
})

describe('what is long is not always a function', () => {
  test.each([
    ['a call with a table', long('export const t = table({', 80, '})')],
    ['a class', long('export class A {', 80)],
    ['a condition over lines', long('if (\n  a &&\n  b\n) {', 80)],
  ])('%s', (_name, text) => {
    plant(`${sdk}/x.ts`, opening + text)
    expect(tidy(root, {})).toEqual([])
  })
})

test('an old offender may stay, may not grow, and must be struck off as it shrinks', () => {
  const path = `${sdk}/x.ts`
  plant(path, opening + long('export function f(): void {', 70))
  const findings = (lines: number) => tidy(root, { [`${path}#f`]: lines })
  expect(findings(70)).toEqual([])
  expect(findings(69)).toEqual([`${path}#f: 70 lines, at most 69`])
  expect(findings(71)).toEqual([`${path}#f: has shrunk; lower its entry to 70`])
  plant(path, opening)
  expect(findings(70)).toEqual([expect.stringMatching(/take it off the list/)])
})
