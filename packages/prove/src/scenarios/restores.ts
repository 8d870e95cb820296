// Backs a workspace up while eight agents send and eight receive, and restores each backup elsewhere, where the first attempt is killed: each restored
// workspace must have all that was acknowledged before its backup began, once, and in order.

import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { MessageHistory, type RecordedSend, readStored } from '../harness/history.ts'
import { MessageLoad } from '../harness/load.ts'
import { databasePathIn, inTrial, sleep, type Trial, type TrialOptions, trialProject } from '../harness/processes.ts'
import type { Random } from '../harness/random.ts'

export interface RestoresSize {
  backups: number
}

interface MadeBackup {
  path: string
  ackedBefore: RecordedSend[]
}

const loadMs = 300
/** Earliest time of a kill, as a share of the time that a whole restore takes: before that, only Node itself starts. */
const startShare = 0.3

/** `interruptedRestores`: restorings that were killed before they had ended. `restored`: messages in all restored workspaces. */
export function restoreBackups(random: Random, size: RestoresSize, options: TrialOptions) {
  return inTrial(options, async (trial) => {
    const history = new MessageHistory()
    const daemon = await trial.startDaemon()
    const load = await MessageLoad.start(trial, history, random)
    const made: MadeBackup[] = []
    const faults: string[] = []
    while (made.length < size.backups) {
      await sleep(loadMs)
      const path = join(trial.dataDir, `backup-${made.length + 1}.tar`)
      const ackedBefore = history.ackedSends()
      const { code, errors } = await trial.runCommand(['workspace', 'backup', path, trialProject])
      if (code !== 0) throw new Error(`the backup ended with ${code}: ${errors}`)
      made.push({ path, ackedBefore })
      trial.reportProgress(`backup ${made.length} of ${size.backups}, ${history.acked} messages acknowledged`)
    }
    await load.finish()
    await daemon.stop()
    let [interruptedRestores, restored, wholeMs] = [0, 0, 0]
    for (const [i, backup] of made.entries()) {
      // The first restore is not killed: it shows how long a whole restore takes.
      const killMs = i === 0 ? undefined : wholeMs * (startShare + (1 - startShare) * random.next())
      const result = await restoreOnce(trial, backup, killMs)
      if (i === 0) wholeMs = result.ms
      if (result.isInterrupted) interruptedRestores++
      restored += result.messages
      faults.push(...faultsOf(history, backup, result).map((fault) => `backup ${i + 1}: ${fault}`))
      trial.reportProgress(`${i + 1} of ${made.length} backups restored`)
    }
    return {
      backups: made.length,
      interruptedRestores,
      acked: history.acked,
      restored,
      faults,
      clientErrors: load.errors,
    }
  })
}

interface Restored {
  ms: number
  isInterrupted: boolean
  messages: number
  stored: ReturnType<typeof readStored>
}

/** Restores a backup in a data directory of its own. If the command was killed before the workspace was in its place, runs it again. */
async function restoreOnce(trial: Trial, { path }: MadeBackup, killMs?: number): Promise<Restored> {
  const dataDir = `${path}.restored`
  mkdirSync(dataDir, { mode: 0o700 })
  const restore = ['workspace', 'restore', path, trialProject]
  const first = await trial.runCommand(restore, { dataDir, killMs })
  const isInterrupted = first.code === null
  const last =
    isInterrupted && !existsSync(databasePathIn(dataDir)) ? await trial.runCommand(restore, { dataDir }) : first
  if (!existsSync(databasePathIn(dataDir)))
    throw new Error(`nothing was restored, and the command ended with ${last.code}: ${last.errors}`)
  const stored = readStored(trial, databasePathIn(dataDir))
  return { ms: first.ms, isInterrupted, messages: stored.messages.length, stored }
}

function faultsOf(history: MessageHistory, { ackedBefore }: MadeBackup, { stored }: Restored): string[] {
  const faults = history.faultsOfStored(stored.messages, ackedBefore)
  return stored.integrity === 'ok' ? faults : [...faults, `the database is not sound: ${stored.integrity}`]
}
