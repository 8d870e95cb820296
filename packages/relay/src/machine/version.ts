// The version of this package, alone in its file, so that `--version` and the daemon's greeting load nothing else.

import { createRequire } from 'node:module'

export const version: string = createRequire(import.meta.url)('../../package.json').version
