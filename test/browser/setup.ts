// Finds Chromium for the browser tests, or brings Debian's; where neither works they are skipped, and the reason is printed.

import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { TestProject } from 'vitest/node'

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

export default function setup(project: TestProject): void {
  const found = findChromium() ?? install()
  if (typeof found === 'string') return project.provide('chromium', { path: found })
  process.stderr.write(`The browser tests are skipped: ${found.why}\n`)
  project.provide('chromium', found)
}

export function findChromium(): string | undefined {
  const { CHROMIUM_PATH } = process.env
  return [...(CHROMIUM_PATH === undefined ? [] : [CHROMIUM_PATH]), ...places].find((path) => existsSync(path))
}

function install(): string | { why: string } {
  try {
    process.stderr.write('There is no Chromium here: trying apt-get install -y chromium …\n')
    execFileSync('apt-get', ['install', '-y', '--no-install-recommends', 'chromium'], { stdio: 'pipe' })
  } catch (error) {
    const [first] = String((error as { stderr?: unknown }).stderr ?? (error as Error).message).split('\n')
    return { why: `Chromium is not here, and could not be installed (${first}).` }
  }
  return findChromium() ?? { why: 'Chromium was installed, but not where it is looked for; set CHROMIUM_PATH.' }
}
