// The version of this package, as its package.json says.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The version, for code that is bundled into `dist` itself: beside that folder lies package.json. */
export function version(): string {
  return JSON.parse(readFileSync(join(__dirname, '../package.json'), 'utf8')).version
}
