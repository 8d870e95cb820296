// How this very command is started once more: absolute, since another terminal may have another PATH.

import { fileURLToPath } from 'node:url'

export const launcher = fileURLToPath(new URL('../../bin/agent-relay.cjs', import.meta.url))

export function launcherArgs(args: readonly string[]): string[] {
  return [process.execPath, launcher, ...args]
}
