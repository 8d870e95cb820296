// `npm test [-- WORDS]`: runs the tests, and checks style and types beside them. WORDS choose tests by parts of a file's path, of a test's
// name, or both; then only the types are checked. --dir=FOLDER leaves out the tests elsewhere. Options of vitest are passed on; --config=FILE
// runs another suite, without checks, --root=FOLDER tests that lie elsewhere. The last lines are the five slowest files and the whole time,
// what passed only when tried again, and the processes that a test did not end.
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseCLI } from 'vitest/node'
import { makeRoom } from './leftovers.mjs'
import { runSteadily } from './steady.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
// The checks take the processor from the tests. Each of several checkers of tsc would infer the schemas' types again, which takes twice the time in all.
const tsc = ['typescript/bin/tsc', '--checkers', '1']
const checks = {
  types: [...tsc, '-p', 'tsconfig.tests.json'],
  style: ['@biomejs/biome/bin/biome', 'check'],
  'types of the page': [...tsc, '-p', 'packages/dashboard'],
}
/** tsc collects its garbage less often: its memory is full of types that stay. */
const checkEnv = { ...process.env, GOGC: '400' }

/** Runs one check to its end and shows what it found. */
function check(name) {
  const [program, ...args] = checks[name]
  const file = join(root, 'node_modules', program)
  const child = spawn(process.execPath, [file, ...args], { cwd: root, env: checkEnv })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  return new Promise((resolve) =>
    child.once('close', (code) => {
      if (code !== 0) process.stderr.write(`\n${name}:\n${output}\n`)
      resolve({ name, isGood: code === 0 })
    }),
  )
}

function testFiles() {
  const entries = ['packages', 'test'].flatMap((top) =>
    readdirSync(join(root, top), { recursive: true, encoding: 'utf8' }).map((path) => `${top}/${path}`),
  )
  const isHere = (path) => folder === undefined || path.startsWith(`${folder}/`)
  return entries.filter((path) => path.endsWith('.test.ts') && !path.includes('node_modules') && isHere(path))
}

function isChosen(path, words) {
  return words.length === 0 || words.some((word) => path.includes(word))
}

/** Chooses the files to load, and the tests in them to run. */
function choose(words) {
  const files = testFiles()
  const holds = (path, text) => readFileSync(join(root, path), 'utf8').includes(text)
  const phrase = words.join(' ')
  const isName = words.length > 1 && files.some((path) => holds(path, phrase))
  const paths = isName ? [] : words.filter((word) => files.some((path) => path.includes(word)))
  const name = words.filter((word) => !paths.includes(word)).join(' ')
  // vitest looks for a word in every path, so where only one folder is meant, it is given the files themselves.
  if (name === '') return { paths: folder === undefined ? paths : files.filter((path) => isChosen(path, paths)) }
  const within = files.filter((path) => isChosen(path, paths))
  // Loading every file takes long. A name that is put together at run time stands in none of them: then all are loaded.
  const holding = within.filter((path) => holds(path, name))
  return { paths: holding.length > 0 ? holding : folder === undefined ? paths : within, name }
}

const { filter: words, options: given } = parseCLI(['vitest', 'run', ...process.argv.slice(2)])
// A package's own `npm test` is started in its folder. With a folder of its own vitest would look there for the paths of the whole project.
const { dir: folder, ...options } = { root, ...given }
const { paths, name } = choose(words)
if (name) options.testNamePattern = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
const wanted = options.config || given.root ? [] : words.length > 0 || folder ? ['types'] : Object.keys(checks)
// The tests talk to this machine alone, and reading extra certificates makes every start of Node slower.
delete process.env.NODE_EXTRA_CA_CERTS

const from = performance.now()
const room = makeRoom()
const checking = Promise.all(wanted.map(check))
const { files, isGood, unsteady } = await runSteadily(paths, options)
const hasRun = files.some((file) => file.hasRun)
if (words.length > 0 && !hasRun) {
  const others = Object.keys(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts)
  const suites = others.filter((script) => script.startsWith('test:')).map((script) => `npm run ${script} -- WORDS`)
  process.stderr.write(
    `No test of this suite has "${words.join(' ')}" in its path or name. Others: ${suites.join(', ')}\n`,
  )
}
const failed = (await checking).filter((each) => !each.isGood).map((each) => each.name)
const left = await room.leave()
const seconds = (ms) => `${Math.round(ms / 1_000)} s`.padStart(6)
for (const { path, ms } of files.toSorted((a, b) => b.ms - a.ms).slice(0, 5))
  process.stderr.write(`${seconds(ms)}  ${relative(options.root, path)}\n`)
process.stderr.write(`${seconds(performance.now() - from)}  in all\n`)
for (const line of unsteady) process.stderr.write(`unsteady: ${line}\n`)
for (const line of left) process.stderr.write(`left running: ${line}\n`)
if (failed.length > 0) process.stderr.write(`\nThe tests apart, these checks failed, see above: ${failed.join(', ')}\n`)
process.exit(isGood && hasRun && failed.length + left.length === 0 ? 0 : 1)
