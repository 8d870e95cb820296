// Runs tests so that a test which fails once and then passes holds nothing back, but is named. Only where CI is set: whoever works on a test wants to
// see it fail.
import { relative } from 'node:path'
import { startVitest } from 'vitest/node'

/** The number of times that a failing test is tried again, in its file. A file that then still fails is run once more, with nothing beside it. */
const retry = 2

const firstLine = (error) => (error?.message ?? String(error)).split('\n', 1)[0]

/** The failures of a file, a line each: its tests, the hooks of its suites, and the file itself where it could not be loaded. */
function failuresOf(module, stray) {
  const line = (name, error) => `${[module.relativeModuleId, name].filter(Boolean).join(' > ')}: ${firstLine(error)}`
  const found = [...module.errors(), ...stray].map((error) => line('', error))
  for (const suite of module.children.allSuites()) {
    for (const error of suite.errors()) found.push(line(suite.fullName, error))
  }
  for (const test of module.children.allTests()) {
    const [error] = test.result().errors ?? []
    if (error) found.push(line(test.fullName, error))
  }
  return found
}

/** Runs the files. Tells of each whether it passed, and what failed in it, also where a later try passed. */
async function run(paths, options) {
  process.exitCode = 0
  const vitest = await startVitest('test', paths, options)
  const stray = vitest.state.getUnhandledErrors()
  // Where a worker process died, the files that it had not begun are in no result.
  const planned = await vitest.globTestSpecifications(paths)
  const files = planned.map(({ moduleId: path, testModule: module }) => {
    const own = stray.filter((error) => error.VITEST_TEST_PATH === path)
    const isGood = ['passed', 'skipped'].includes(module?.state()) && own.length === 0
    const failures = module ? failuresOf(module, own) : []
    if (!isGood && failures.length === 0) failures.push(`${relative(vitest.config.root, path)}: it did not end`)
    const hasRun = [...(module?.children.allTests() ?? [])].some((test) => test.result().state !== 'skipped')
    const ms = module?.diagnostic().duration ?? 0
    return { path, isGood, hasRun, ms, failures }
  })
  return { files, isGood: !process.exitCode }
}

/** Runs tests by vitest's filters and options. Tells whether all passed, and names those that passed only when tried again. */
export async function runSteadily(paths, options) {
  if (!process.env.CI) return { ...(await run(paths, options)), unsteady: [] }
  const first = await run(paths, { ...options, retry })
  const failed = first.files.filter((file) => !file.isGood)
  let { isGood } = first
  if (failed.length > 0) {
    process.stderr.write(`\nOnce more, one after the other: ${failed.map(({ path }) => path).join(' ')}\n`)
    const alone = { ...options, retry, isolate: true, fileParallelism: false }
    const second = await run(
      failed.map(({ path }) => path),
      alone,
    )
    isGood = second.isGood
    for (const file of failed) file.isGood = second.files.some(({ path, isGood }) => path === file.path && isGood)
  }
  const unsteady = first.files.filter((file) => file.isGood).flatMap((file) => file.failures)
  return { files: first.files, isGood: isGood && first.files.every((file) => file.isGood), unsteady }
}
