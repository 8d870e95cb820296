// The version of this package, alone in its file, so that `--version` and the daemon's greeting load nothing else.

import { readFileSync } from 'node:fs'

export const version: string = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version
