// Installs the real CLIs from npm into the user's cache, each version once. What they need in their home is in clis.ts.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'agent-relay', 'clis')
/** They are up to 350 MB each. */
const installMs = 10 * 60_000

/** The folder of its program, or why there is none. */
export function install(program: string, npmPackage: string): { folder: string } | { reason: string } {
  const place = join(cache, npmPackage.replaceAll('/', '+'))
  const folder = join(place, 'node_modules', '.bin')
  if (existsSync(join(folder, program))) return { folder }
  const fresh = `${place}.${process.pid}`
  mkdirSync(fresh, { recursive: true })
  writeFileSync(join(fresh, 'package.json'), '{"private":true}\n')
  const flags = ['--no-audit', '--no-fund', '--loglevel=error']
  const { status, stderr, error } = spawnSync('npm', ['install', ...flags, npmPackage], {
    cwd: fresh,
    encoding: 'utf8',
    timeout: installMs,
  })
  if (status !== 0) {
    rmSync(fresh, { recursive: true, force: true })
    return { reason: error?.message ?? stderr.trim().split('\n').slice(0, 3).join(' ') }
  }
  // A half install must not be found by the next run.
  rmSync(place, { recursive: true, force: true })
  renameSync(fresh, place)
  return existsSync(join(folder, program)) ? { folder } : { reason: `the package has no program ${program}` }
}
