// `daemon start --test`: a relay in memory for the tests of one directory. It runs in this process, so that its starter can end it, and leaves nothing behind.

import { dataDir, socketPathOf } from '@agent-relay/sdk/internal/discover'
import { noteTestRelay } from '@agent-relay/sdk/internal/test-relays'
import type { Context } from '../../command.ts'
import { chooseWorkspace } from '../../connection.ts'
import { awaitEnding, ended } from '../../ending.ts'
import { inForeground, type UpOptions } from './foreground.ts'
import { exportLine, forgetMemory, memoryEnv } from './starting.ts'

export async function runTest(context: Context<UpOptions>): Promise<void> {
  const { cwd, options, print } = context
  // Called first, so that from here on a signal lets the code below end in order.
  awaitEnding()
  const env = memoryEnv(context.env)
  let forget: (() => void) | undefined
  try {
    // Noted before the daemon is loaded: a program that looks for the relay meanwhile waits, and does not take another one for it.
    const { project } = chooseWorkspace(context, env)
    const socketPath = socketPathOf(dataDir(env), project, env)
    if (cwd !== undefined) forget = noteTestRelay({ project, socketPath }, cwd, context.env)
    await inForeground({ ...context, options: { ...options, memory: true } }, env, async (served, _, end) => {
      const settings = { RELAY_DATA_DIR: dataDir(env), RELAY_SOCKET: served.socketPath }
      const { name: workspace, url } = served
      if (print.isJson) await print.json({ type: 'ready', workspace, url, pid: process.pid, env: settings })
      else await print.line(exportLine(settings))
      if (!options.quiet) print.say('A relay in memory runs for what is started in this directory. Ctrl-C ends it.')
      await ended(end)
      forget?.()
    })
  } finally {
    forget?.()
    forgetMemory(env)
  }
}
