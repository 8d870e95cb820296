// Installs packages from npm for a test suite, outside this repository's own: into the user's cache, each version once, and without running
// any of their scripts, so that it works the same whatever npm is configured to run.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'agent-relay')
/** Enough for real CLIs, which are up to 350 MB each. */
const installMs = 10 * 60_000

/** Answers the folder of `node_modules`. Throws with npm's own words. */
export function installTool(...packages) {
  const place = join(cache, packages.join('+').replaceAll('/', '+'))
  const modules = join(place, 'node_modules')
  if (existsSync(modules)) return modules
  process.stderr.write(`installing ${packages.join(' and ')} …\n`)
  const fresh = `${place}.${process.pid}`
  mkdirSync(fresh, { recursive: true })
  writeFileSync(join(fresh, 'package.json'), '{"private":true}\n')
  const flags = ['--ignore-scripts', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error']
  const options = { cwd: fresh, encoding: 'utf8', timeout: installMs }
  const { status, stderr, error } = spawnSync('npm', ['install', ...flags, ...packages], options)
  if (status !== 0) {
    rmSync(fresh, { recursive: true, force: true })
    throw new Error(`npm could not install ${packages.join(' and ')}: ${error?.message ?? stderr.trim()}`)
  }
  // Renamed when it is whole: an install that was cut short must not pass for a whole one.
  try {
    renameSync(fresh, place)
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true })
    // Another suite has installed the packages meanwhile, and uses its folder.
    if (!existsSync(modules)) throw error
  }
  return modules
}
