// The whole daemon is killed under workers in worktrees, also while it makes one: the next daemon finds them, its sweep removes only those that are
// ours and hold no work, and the person's own work is unchanged.

import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectClient } from '@agent-relay/prove/harness/clients'
import { inTrial, sleep } from '@agent-relay/prove/harness/processes'
import { expect, test } from 'vitest'
import { installedRelay } from '../../packages/relay/src/cli/own-relay.ts'
import { leaveWork, makeRepository, oursIn, personsWork } from '../../packages/relay/tests/work/repository-world.ts'
import { guardMs } from '../guard.ts'
import { sized } from '../size.ts'
import { until } from '../until.ts'
import { seeded } from './harness/seeded.ts'

const rounds = sized(1, 10)

test(`${rounds} kills under workers in worktrees, and the sweep after each`, async () => {
  await inTrial({ relay: installedRelay }, async (scene) => {
    const random = seeded('workers in worktrees')
    const repository = realpathSync(mkdtempSync(join(tmpdir(), 'relay-swept-')))
    scene.onDispose(() => rmSync(repository, { recursive: true, force: true }))
    makeRepository(repository)
    leaveWork(repository)
    const before = personsWork(repository)
    let daemon = await scene.startDaemon()
    const limits = { backoffMsMax: 100, callAwayMs: 2 * guardMs }
    const lead = await connectClient(scene, 'Lead', { limits })
    const spawn = (name: string, script: string) =>
      lead.call('worker.spawn', {
        ...{ name, cli: 'plain', command: ['sh', '-c', script], cwd: repository, worktree: true },
      })
    const kept: string[] = []
    for (let round = 0; round < rounds; round++) {
      const [clean, busy, half] = ['Clean', 'Busy', 'Half'].map((name) => `${name}${round}`) as [string, string, string]
      await spawn(clean, 'sleep 600')
      await spawn(busy, 'echo work > work.txt; sleep 600')
      await until(() => existsSync(join(repository, '.relay/worktrees', busy, 'work.txt')))
      // The daemon is killed somewhere in the middle of this one.
      const spawned = spawn(half, 'sleep 600').catch(() => {})
      await sleep(random.below(200))
      await daemon.end('SIGKILL')
      daemon = await scene.startDaemon()
      await spawned
      const running = async () => (await lead.call('worker.list', {})).workers.map(({ name }) => name)
      // A spawn that was not answered is asked again when the client is back, and runs then.
      for (const name of await running()) await lead.call('worker.release', { name })
      kept.push(busy)
      await until(async () => {
        await lead.call('worker.sweep', {})
        return oursIn(repository).paths.length === kept.length
      })
      expect(await running()).toEqual([])
      const { removed, kept: left } = await lead.call('worker.sweep', {})
      expect(removed).toEqual([])
      expect(left.map(({ name, why }) => [name, why]).sort()).toEqual(
        kept.map((name) => [name, '1 file not committed']).sort(),
      )
      const { paths, branches, listed } = oursIn(repository)
      expect(paths.sort()).toEqual([...kept].sort())
      expect(branches.sort()).toEqual(kept.map((name) => `relay/${name}`).sort())
      expect(listed).toHaveLength(kept.length)
      expect(personsWork(repository)).toEqual(before)
    }
  })
})
