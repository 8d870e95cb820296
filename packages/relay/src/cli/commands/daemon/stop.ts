// `daemon stop`: asks the daemon to stop, and waits until it has ended.

import { setTimeout as sleep } from 'node:timers/promises'
import { dataDir, type Env } from '@agent-relay/sdk/internal/discover'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { type CommandContext, CommandError, exitCodes, type NamedCommand } from '../../command.ts'
import { daemonPollMs, daemonStatus, nextCommandId, withControl } from '../../control-socket.ts'
import { yesOptions } from '../../options.ts'
import { confirmEndingWork, workEndedText, workEndingWithDaemon } from './ending-work.ts'

export const stop: NamedCommand<typeof yesOptions> = {
  name: 'stop',
  text: 'finish calls under way, then stop the daemon; on a terminal it asks first whether workers may end',
  options: yesOptions,
  examples: ['agent-relay daemon stop'],
  actsForNoAgent: true,
  run: runStop,
}

async function runStop({ env, print, options }: CommandContext<typeof yesOptions>): Promise<void> {
  const ended = workEndingWithDaemon((await withControl(env, daemonStatus)).workspaces)
  await confirmEndingWork(ended, { command: 'daemon stop', yes: options.yes, print })
  const pid = await print.during('stopping', stopDaemon(env))
  if (print.isJson) return void (await print.json({ stopped: true, pid, ended }))
  print.say(`The daemon has stopped (pid ${pid}).`)
  if (ended.length > 0) print.say(workEndedText(ended))
}

/** Stops the daemon and waits until its lock is free, so that another one can start. Returns its pid. */
export async function stopDaemon(env: Env): Promise<number> {
  const pid = await withControl(env, async (link) => {
    const status = await daemonStatus(link)
    await link.call('daemon.stop', {}, nextCommandId('c'))
    return status.pid
  })
  // Imported here, since it loads the store.
  const { isDaemonRunning } = await import('../../../daemon/inspect.ts')
  for (
    const until = performance.now() + waitLimitMs('stop');
    isDaemonRunning(dataDir(env));
    await sleep(daemonPollMs)
  ) {
    if (performance.now() > until)
      throw new CommandError(`The daemon (pid ${pid}) was asked to stop and still runs.`, exitCodes.busy)
  }
  return pid
}
