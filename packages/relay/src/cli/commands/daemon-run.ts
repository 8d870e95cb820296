// `daemon run`: the background daemon's own process, which `daemon start` starts; a person never needs it.

import { credentialsPath, dataDir } from '@agent-relay/sdk/discover'
import { Daemon } from '../../daemon.ts'
import { RefusalError } from '../../refusal-error.ts'
import { version } from '../../version.ts'
import { exits, type Run } from '../command.ts'
import { awaitEnding, ended } from '../ending.ts'
import { httpWish } from '../http.ts'
import { loginName } from '../login-name.ts'
import { outliveTasks } from '../outliving.ts'
import { forgetMemory } from '../starting.ts'

/** Until it is told to stop. Losing the race for the lock is no failure: the exit code tells the starter to look again. */
export const run: Run = async ({ env, options }) => {
  const ending = awaitEnding()
  outliveTasks(logTrouble)
  const stopped = new AbortController()
  let failure: Error | undefined
  const daemon = await Daemon.start({
    dataDir: dataDir(env),
    credentialsPath: credentialsPath(env),
    isMemory: options.memory,
    human: loginName(),
    http: httpWish(options, env),
    onStop: (_, error) => {
      failure = error
      stopped.abort()
    },
    onTrouble: logTrouble,
  })
  if (!daemon) {
    process.exitCode = exits.lostRace
    return
  }
  log(`agent-relay ${version} runs, pid ${process.pid}, data in ${dataDir(env)}${daemon.url ? `, ${daemon.url}` : ''}`)
  await ended(AbortSignal.any([ending, stopped.signal]))
  log(failure ? `stopping, because of: ${failure.stack}` : 'stopping')
  await daemon.stop()
  if (options.memory) forgetMemory(env)
  else log('stopped')
  if (failure) process.exitCode = exits.refused
}

/** With its way through the code, unless it is a "no" that was meant. */
function logTrouble(error: Error): void {
  log(error instanceof RefusalError ? error.message : (error.stack ?? error.message))
}

function log(text: string): void {
  process.stderr.write(`${new Date().toISOString()} ${text}\n`)
}
