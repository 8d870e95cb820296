// The version of this package, alone in its file: `--version` and the daemon's greeting load no more than this.

import { createRequire } from 'node:module'

export const version: string = createRequire(import.meta.url)('../../package.json').version
