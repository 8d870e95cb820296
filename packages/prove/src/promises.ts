// The table of promises that the relay makes. Each row has the trial that shows whether the promise holds on this machine, and what counts as broken. prove.ts
// runs the trials.

import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import type { TrialOptions } from './harness/processes.ts'
import { Random } from './harness/random.ts'
import { whyNoStrace } from './harness/strace.ts'
import { fillDisk, howToMount } from './scenarios/full-disk.ts'
import { hostileFrames } from './scenarios/fuzz.ts'
import { type KillsSize, killUnderLoad } from './scenarios/kills.ts'
import { findPostgres, killSharingMachines, type MachinesSize } from './scenarios/machines.ts'
import { type PrunesSize, pruneUnderKills } from './scenarios/prunes.ts'
import { restartUnderSessions } from './scenarios/restarts.ts'
import { type RestoresSize, restoreBackups } from './scenarios/restores.ts'
import { stalledReaders, stallReaders } from './scenarios/stalls.ts'
import { traceSyncBeforeAck } from './scenarios/syncs.ts'
import { measureAnswerTimes, type WakesSize } from './scenarios/wakes.ts'

/** The size of each trial, such as how often it kills the daemon. */
export interface ProveSize {
  kills: KillsSize
  answers: number
  diskMb: number
  frames: { mutated: number; msMax: number; answerMs?: number }
  readersMb: number
  restarts: number
  wakes: WakesSize
  prunes: PrunesSize
  restores: RestoresSize
  machines: MachinesSize
}

/** The default size: all trials together take about two minutes on two quiet cores. */
export const proveSizeDefault: ProveSize = {
  kills: { cycles: 15, msMax: 20_000 },
  answers: 100,
  diskMb: 6,
  frames: { mutated: 20_000, msMax: 15_000 },
  readersMb: 20,
  restarts: 6,
  wakes: { questions: 100, wakeMs: waitLimitMs('prove') },
  prunes: { kills: 8, msMax: 20_000 },
  restores: { backups: 4 },
  machines: { kills: 6, msMax: 30_000 },
}

/** The result of a trial: a figure to compare with other runs, and each fault as a sentence; or the reason why the trial could not run on this machine. */
export type TrialResult = { figure: string; faults: string[] } | { skipped: string }

export interface RelayPromise {
  text: string
  runTrial(size: ProveSize, options: TrialOptions): Promise<TrialResult>
}

/** The most memory in MB that stalled readers may cost the daemon: 40 to 58 MB were measured, and once 73, depending on when memory is collected. */
const readersCostMbMax = 96
const refusedMin = 20

export const promises = {
  kill: {
    text: 'what was acknowledged outlives kill -9: nothing lost, nothing twice, in order',
    async runTrial({ kills }, options) {
      const { cycles, acked, shown, integrity, faults, clientErrors } = await killUnderLoad(
        Random.withNewSeed(),
        kills,
        options,
      )
      if (acked === 0) faults.push('nothing was acknowledged')
      return {
        figure: `${times(cycles, 'kill')}, ${number(acked)} acknowledged, ${number(shown)} shown`,
        faults: [...faults, ...clientErrors, ...unsound(integrity)],
      }
    },
  },
  sync: {
    text: 'an answer leaves after its entry was synced to the disk',
    async runTrial({ answers }, options) {
      const skipped = whyNoStrace()
      if (skipped !== undefined) return { skipped }
      const { acks, syncs, faults } = await traceSyncBeforeAck(answers, options)
      return { figure: `${times(acks, 'answer')}, ${times(syncs, 'sync')}`, faults }
    },
  },
  'full-disk': {
    text: 'a full disk refuses what cannot be stored, and nothing is lost',
    async runTrial({ diskMb }, options) {
      const how = howToMount()
      if ('reason' in how) return { skipped: how.reason }
      const found = await fillDisk(how.unshare, diskMb, options)
      const { ackedBefore, refusal, refusedWhileFull, resumedMs, faults, failedReads } = found
      return {
        figure: `full at ${number(ackedBefore)} messages, ${refusedWhileFull} refused, on again after ${resumedMs} ms`,
        faults: [
          ...faults,
          ...failedReads,
          ...faultUnless(refusal.startsWith('store.full'), `the refusal was ${refusal}`),
          ...faultUnless(refusedWhileFull >= refusedMin, 'something was stored on a full disk'),
          ...faultUnless(resumedMs !== undefined, 'nothing could be stored when there was space again'),
          ...unsound(found.integrity),
          ...faultUnless(found.daemonErrors === '', `the daemon said: ${found.daemonErrors}`),
        ],
      }
    },
  },
  frames: {
    text: 'hostile frames are refused, and no other session is harmed',
    async runTrial({ frames }, options) {
      const found = await hostileFrames(Random.withNewSeed(), frames, options)
      const { wrong, faults, mutated, witness, exit, daemonErrors } = found
      return {
        figure: `${times(mutated, 'mutated frame')}, ${times(witness.calls, 'call')} of another session meanwhile`,
        faults: [
          ...wrong,
          ...faults,
          ...witness.failures.map((failure) => `another session: ${failure}`),
          ...faultUnless(exit === 0 && daemonErrors === '', `the daemon ended with ${exit}: ${daemonErrors}`),
        ],
      }
    },
  },
  'slow-readers': {
    text: 'who does not read is cut off, costs little, and finds everything later',
    async runTrial({ readersMb }, options) {
      const readers = stalledReaders.filter((reader) => reader !== 'away')
      const { cutOffSeconds, goodbyes, missed, busy, rssMbMax, rssMbBefore } = await stallReaders(
        readersMb,
        readers,
        options,
      )
      const cost = Math.round(rssMbMax - rssMbBefore)
      const memory = Number.isNaN(cost) ? '' : `, ${Math.max(0, cost)} MB of memory`
      return {
        figure: `${readersMb} MB each, cut off after ${Math.max(...Object.values(cutOffSeconds))} s${memory}`,
        faults: [
          ...readers
            .filter((reader) => goodbyes[reader] !== 'session.stalled')
            .map((reader) => `${reader} was not told why it was cut off: ${goodbyes[reader] ?? 'nothing was said'}`),
          ...Object.entries(missed).map(([reader, what]) => `${reader} did not find everything: ${what}`),
          ...busy.failures.map((failure) => `another session: ${failure}`),
          ...faultUnless(!(cost > readersCostMbMax), `${cost} MB of memory for those who do not read`),
        ],
      }
    },
  },
  restart: {
    text: 'clients and MCP pipes come back after a restart, and calls run once',
    async runTrial({ restarts }, options) {
      const found = await restartUnderSessions(Random.withNewSeed(), restarts, options)
      const { calls, acked, shown, integrity, faults } = found
      return {
        figure: `${times(found.restarts, 'restart')}, ${acked} of ${calls} calls answered, ${shown} shown`,
        faults: [...faults, ...unsound(integrity)],
      }
    },
  },
  wake: {
    text: 'whoever waits is woken by each message, and nobody polls',
    async runTrial({ wakes }, options) {
      const { questions, p50Ms, maxMs, faults } = await measureAnswerTimes(wakes, options)
      return {
        figure: `${times(questions, 'answer')}, median ${p50Ms.toFixed(1)} ms, slowest ${maxMs.toFixed(0)} ms`,
        faults,
      }
    },
  },
  prune: {
    text: 'a pruning that is killed leaves each message in the database or in the archive',
    async runTrial({ prunes }, options) {
      const found = await pruneUnderKills(Random.withNewSeed(), prunes, options)
      const { kills, interruptedPrunings, acked, pruned, fileMb, integrity, faults, clientErrors } = found
      return {
        figure: `${times(kills, 'kill')}, ${interruptedPrunings} in a pruning, ${number(pruned)} of ${number(acked)} in the archive, ${fileMb.toFixed(1)} MB left`,
        faults: [...faults, ...clientErrors, ...faultUnless(pruned > 0, 'nothing was pruned'), ...unsound(integrity)],
      }
    },
  },
  restore: {
    text: 'a backup has all that was acknowledged before it, and is restored whole',
    async runTrial({ restores }, options) {
      const found = await restoreBackups(Random.withNewSeed(), restores, options)
      const { backups, interruptedRestores, acked, restored, faults, clientErrors } = found
      return {
        figure: `${times(backups, 'backup')} of ${number(acked)} messages, ${number(restored)} restored, ${times(interruptedRestores, 'kill')}`,
        faults: [...faults, ...clientErrors, ...faultUnless(restored > 0, 'nothing was restored')],
      }
    },
  },
  'shared-workspace': {
    text: 'two machines that share a workspace agree, though server and daemons are killed',
    async runTrial({ machines }, options) {
      const postgres = findPostgres()
      if ('reason' in postgres) return { skipped: postgres.reason }
      const found = await killSharingMachines(Random.withNewSeed(), postgres.programs, machines, options)
      const { kills, acked, shown, faults, clientErrors } = found
      return {
        figure: `${times(kills, 'kill')}, ${number(acked)} acknowledged on one, ${number(shown)} shown on the other`,
        faults: [...faults, ...clientErrors, ...faultUnless(acked > 0, 'nothing was acknowledged')],
      }
    },
  },
} as const satisfies Record<string, RelayPromise>

export type PromiseName = keyof typeof promises
export const promiseNames = Object.keys(promises) as PromiseName[]

function unsound(integrity: string): string[] {
  return faultUnless(integrity === 'ok', `the database is not sound: ${integrity}`)
}

function faultUnless(holds: boolean, fault: string): string[] {
  return holds ? [] : [fault]
}

function number(value: number): string {
  return value.toLocaleString('en')
}

function times(value: number, noun: string): string {
  return `${number(value)} ${noun}${value === 1 ? '' : 's'}`
}
