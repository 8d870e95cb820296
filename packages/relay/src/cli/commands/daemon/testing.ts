// `daemon start --test`: a relay in memory for the tests of one directory. It runs in this process, so that the test runner can end it, and leaves nothing
// behind.

import { dataDir, socketPathOf } from '@agent-relay/sdk/internal/discover'
import { registerTestRelay } from '@agent-relay/sdk/internal/test-relays'
import type { CommandContext } from '../../command.ts'
import { chooseWorkspace } from '../../connection.ts'
import { endingSignal, untilAborted } from '../../ending.ts'
import { runInForeground, type upOptions } from './foreground.ts'
import { newMemoryEnv, removeMemoryDirectory, shellExportLine } from './starting.ts'

export async function runTestRelay(context: CommandContext<typeof upOptions>): Promise<void> {
  const { cwd, options, print } = context
  // Called first: from here on a signal does not end the process at once, so that the cleanup below runs.
  endingSignal()
  const env = newMemoryEnv(context.env)
  let forget: (() => void) | undefined
  try {
    // The relay is registered before the daemon is loaded: a test that looks for it meanwhile waits, and does not use another relay.
    const { project } = chooseWorkspace(context, env)
    const socketPath = socketPathOf(dataDir(env), project, env)
    if (cwd !== undefined) forget = registerTestRelay({ project, socketPath }, cwd, context.env)
    await runInForeground({ ...context, options: { ...options, memory: true } }, env, async (served, _, end) => {
      const settings = { RELAY_DATA_DIR: dataDir(env), RELAY_SOCKET: served.socketPath }
      const { name: workspace, url } = served
      if (print.isJson) await print.json({ type: 'ready', workspace, url, pid: process.pid, env: settings })
      else await print.line(shellExportLine(settings))
      if (!options.quiet) print.say('A relay in memory runs for what is started in this directory. Ctrl-C ends it.')
      await untilAborted(end)
      forget?.()
    })
  } finally {
    forget?.()
    removeMemoryDirectory(env)
  }
}
