// The version of this package and of its build, alone in a file, so that `--version` and the daemon's greeting load nothing else.

import { readFileSync } from 'node:fs'
import { tryOrUndefined } from './try-or-undefined.ts'

export const version: string = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version

/**
 * The version with the id of this build (scripts/build-id.mjs), as `1.2.3+0a1b2c3d4e5f`. The daemon reports it, and a CLI command compares it with
 * its own. Code that only the TypeScript compiler has built has no id.
 */
export const versionWithBuildId: string = withBuildId(version)

function withBuildId(plain: string): string {
  return (
    tryOrUndefined(() => `${plain}+${readFileSync(new URL('../../dist/build-id', import.meta.url), 'utf8').trim()}`) ??
    plain
  )
}
