// Here stands the version of this package, and nothing else: `--version` and the daemon's greeting load no more than this.

import { createRequire } from 'node:module'

export const version: string = createRequire(import.meta.url)('../../package.json').version
