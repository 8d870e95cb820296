// The version of this package, as its package.json says.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Reads the version from package.json one folder above, so only for code that is bundled directly into `dist`. */
export function version(): string {
  return JSON.parse(readFileSync(join(__dirname, '../package.json'), 'utf8')).version
}
