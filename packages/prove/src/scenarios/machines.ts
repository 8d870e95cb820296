// Two machines, each with a daemon of its own, share a workspace on a PostgreSQL: eight agents send on one, eight receive on the other, while the server and
// the daemons are killed in turn. Both replicas must have the same messages: all that was acknowledged, once, and in order.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { MessageHistory, readStored } from '../harness/history.ts'
import { MessageLoad } from '../harness/load.ts'
import {
  admin,
  endServer,
  initializeServer,
  installedPostgres,
  killServer,
  setSmallServer,
  startServer,
} from '../harness/postgres.ts'
import {
  type DaemonProcess,
  inTrial,
  sleep,
  type Trial,
  type TrialOptions,
  trialProject,
} from '../harness/processes.ts'
import type { Random } from '../harness/random.ts'

export interface MachinesSize {
  kills: number
  /** Time in milliseconds from the first send, after which nothing is killed any more. */
  msMax?: number
}

const killEveryMsMax = 600
const serverRetryMs = 200

/** Returns the programs of PostgreSQL, or the reason why there are none to use. */
export function findPostgres(): { programs: string } | { reason: string } {
  const [programs] = installedPostgres()
  if (programs === undefined) return { reason: 'no PostgreSQL is installed (for Debian: apt-get install postgresql)' }
  return { programs }
}

export function killSharingMachines(random: Random, programs: string, size: MachinesSize, options: TrialOptions) {
  return inTrial(options, (here) => inTrial(options, (there) => run(random, programs, size, { here, there })))
}

interface Machines {
  here: Trial
  there: Trial
}

async function run(random: Random, programs: string, size: MachinesSize, { here, there }: Machines) {
  const { kills, msMax = Number.POSITIVE_INFINITY } = size
  const server = await makeServer(programs, here)
  const daemons = { here: await here.startDaemon(), there: await there.startDaemon({ opens: false }) }
  await share(here, there, server)
  const history = new MessageHistory()
  const refusals = { expected: 'cluster.unreachable', undecided: 'cluster.unknown' }
  const load = await MessageLoad.start(here, history, random, { receivers: there, ...refusals })
  const from = performance.now()
  const victims = [
    async () => {
      killServer(server)
      await startAgain(programs, server)
    },
    async () => {
      daemons.here = await killDaemon(here, daemons.here)
    },
    async () => {
      daemons.there = await killDaemon(there, daemons.there)
    },
  ]
  let done = 0
  while (done < kills && performance.now() - from < msMax) {
    await sleep(random.below(killEveryMsMax))
    await victims[done % victims.length]?.()
    here.reportProgress(`kill ${++done} of ${kills}, ${history.acked} messages acknowledged`)
  }
  await load.finish()
  const stored = await readAlike(here, there, daemons)
  return {
    kills: done,
    acked: history.acked,
    shown: history.shown.length,
    faults: [...stored.faults, ...history.faults(stored.messages)],
    clientErrors: load.errors,
  }
}

async function makeServer(programs: string, trial: Trial): Promise<string> {
  const folder = join(trial.dataDir, 'postgres')
  mkdirSync(folder, { mode: 0o700 })
  await initializeServer(programs, folder)
  setSmallServer(folder)
  trial.onDispose(() => endServer(programs, folder))
  await startServer(programs, folder)
  trial.reportProgress('the server runs')
  return folder
}

/** Shares the workspace of one machine and joins it on the other, as two people do. */
async function share(here: Trial, there: Trial, server: string): Promise<void> {
  const env = { PGHOST: server, PGUSER: admin.user, PGPASSWORD: admin.password }
  const shared = await here.runCommand(['workspace', 'share', trialProject, '--invite', 'there', '--at', server], {
    env,
  })
  if (shared.code !== 0) throw new Error(`the workspace could not be shared: ${shared.errors}`)
  const joined = await there.runCommand(['machine', 'join', '--yes'], { input: shared.output })
  if (joined.code !== 0) throw new Error(`the other machine could not join: ${joined.errors}`)
  here.reportProgress('two machines share the workspace')
}

/** Starts the server after a kill: its former processes may need a moment to end. */
async function startAgain(programs: string, folder: string): Promise<void> {
  const until = performance.now() + waitLimitMs('prove')
  for (;;) {
    try {
      return await startServer(programs, folder)
    } catch (error) {
      if (performance.now() > until) throw error
      await sleep(serverRetryMs)
    }
  }
}

async function killDaemon(trial: Trial, daemon: DaemonProcess): Promise<DaemonProcess> {
  await daemon.end('SIGKILL')
  return trial.startDaemon()
}

/** Stops both daemons, and compares the messages that they have stored, as far as both have them. */
async function readAlike(here: Trial, there: Trial, daemons: { here: DaemonProcess; there: DaemonProcess }) {
  await daemons.here.stop()
  await daemons.there.stop()
  const [own, other] = [readStored(here), readStored(there)]
  const faults = [own, other]
    .filter(({ integrity }) => integrity !== 'ok')
    .map(({ integrity }) => `not sound: ${integrity}`)
  // The machine that stopped first may lack the last entries.
  const alike = Math.min(own.messages.length, other.messages.length)
  if (JSON.stringify(own.messages.slice(0, alike)) !== JSON.stringify(other.messages.slice(0, alike)))
    faults.push('the two machines have different messages')
  return { messages: own.messages.length > alike ? own.messages : other.messages, faults }
}
