// The version of this package, as its package.json says.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Of what is bundled into `dist` itself: beside it lies the package's own file. */
export function version(): string {
  return JSON.parse(readFileSync(join(__dirname, '../package.json'), 'utf8')).version
}
