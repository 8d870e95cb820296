// Reconciling after a failover that has lost acknowledged entries: read messages stay read and waiting ones wait, whichever machine begins,
// and wherever it was cut off. Real daemons, a real standby.

import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { makeIds } from '@agent-relay/sdk/protocol'
import { afterAll, expect, test } from 'vitest'
import { type Actor, bodiesOf } from '../../../../test/plays/play.ts'
import { sized } from '../../../../test/size.ts'
import { until } from '../../../../test/until.ts'
import { SharedWorkspaces } from '../../src/cluster/shared-workspaces.ts'
import { systemClock } from '../../src/machine/clock.ts'
import { ClusterFile, type ClusterMembership } from '../../src/machine/cluster-file.ts'
import { DataDirectory } from '../../src/machine/data-directory.ts'
import { Store } from '../../src/store/store.ts'
import { World } from '../cli/cli-world.ts'
import { FailoverWorld } from './failover-world.ts'
import type { Machine } from './machine.ts'

const workspace = 'team'
const worlds: FailoverWorld[] = []
afterAll(async () => {
  for (const world of worlds) await world.close()
})

async function begin(names: string[], workspaces = [workspace]): Promise<FailoverWorld> {
  const world = await FailoverWorld.start(names, workspaces)
  worlds.push(world)
  return world
}

/** Takes this many, and comes again: what it was shown before counts as read. */
async function reads(actor: Actor, count: number): Promise<string[]> {
  if (count === 0) return []
  const { messages } = await actor.call('inbox.take', { limit: count })
  await actor.call('inbox.peek', {})
  await actor.comesBack()
  return messages.map(({ id }) => id)
}

/** What waits, without taking it. */
const waiting = async (actor: Actor) => bodiesOf((await actor.call('inbox.peek', {})).messages)

const reconcile = (machine: Machine, force = true) => machine.control('workspace.reconcile', { workspace, force })
const nothing = { lost: 0, restored: 0, others: 0, left: 0 }

/** Ada on the laptop and bob on the box write to each other, in a channel too, and each reads a part: before the standby lags and after. */
async function talk(world: FailoverWorld) {
  const [laptop, box] = world.machines as [Machine, Machine]
  const enter = (machine: Machine, name: string, token?: string) => world.enter(machine, workspace, name, token)
  const [ada, bob, cy] = [await enter(laptop, 'ada'), await enter(box, 'bob'), await enter(box, 'cy')]
  await world.settled(workspace)
  const say = async (when: string) => {
    const sent: string[] = []
    for (const n of [1, 2, 3]) {
      sent.push((await ada.send('bob', `${when} ada ${n}`)).id as string)
      sent.push((await bob.send('ada', `${when} bob ${n}`)).id as string)
      sent.push((await cy.send('#general', `${when} cy ${n}`)).id as string)
    }
    await world.settled(workspace)
    return sent
  }
  const early = await say('early')
  const read = { ada: await reads(ada, 2), bob: await reads(bob, 3) }
  await world.settled(workspace)
  await world.lose()
  const late = await say('late')
  // Who comes then has no backlog, and gets what is said from then on.
  const dan = await enter(box, 'dan')
  await world.settled(workspace)
  late.push((await ada.send('#general', 'hello dan')).id as string)
  await world.settled(workspace)
  // Also what the standby has was read after it has lagged.
  read.ada.push(...(await reads(ada, 6)))
  read.bob.push(...(await reads(bob, 7)))
  await world.settled(workspace)
  const unread = { ada: await waiting(ada), bob: await waiting(bob), dan: await waiting(dan) }
  expect([unread.ada.length, unread.bob.length, unread.dan]).toEqual([4, 3, ['hello dan']])
  const tokens = { ada: ada.token, bob: bob.token, dan: dan.token }
  await world.failOver(workspace)
  return { laptop, box, enter, tokens, read, unread, sent: [...early, ...late] }
}

type Talk = Awaited<ReturnType<typeof talk>>

/** Nothing is lost, nothing came twice, what was read is read on both machines, and nothing else. */
async function expectAll(world: FailoverWorld, { laptop, box, enter, tokens, read, unread, sent }: Talk) {
  const [ada, bob] = [await enter(laptop, 'ada', tokens.ada), await enter(box, 'bob', tokens.bob)]
  await world.settled(workspace)
  for (const machine of world.machines) {
    const { view, database } = await world.storeOf(machine, workspace)
    const ids = database.prepare('SELECT id FROM messages').all().flat()
    expect(ids.toSorted()).toEqual(sent.toSorted())
    for (const reader of ['ada', 'bob'] as const) {
      const isRead = (id: string) => {
        const head = view.message(id)
        return head && view.receipt(reader, head)?.readAt !== undefined
      }
      await until(() => sent.filter(isRead).length >= read[reader].length)
      expect(sent.filter(isRead).toSorted()).toEqual(read[reader].toSorted())
    }
  }
  expect((await waiting(ada)).toSorted()).toEqual(unread.ada.toSorted())
  expect((await waiting(bob)).toSorted()).toEqual(unread.bob.toSorted())
  // Numbers in the channel are others by now, so that dan may be shown more. Nothing is missing.
  expect(await waiting(await enter(box, 'dan', tokens.dan))).toEqual(expect.arrayContaining(unread.dan))
  // Made again from the journals, it is the same.
  for (const machine of world.machines) {
    const store = await world.storeOf(machine, workspace)
    const rows = () => store.database.prepare('SELECT * FROM receipts ORDER BY message, agent').all()
    const before = rows()
    store.rebuild()
    expect(rows()).toEqual(before)
  }
}

// In the short size the laptop begins below, where it is asked by the command.
const beginners = [
  ['the box', 1],
  ['the laptop', 0],
] as const
test.each(beginners.slice(0, sized(1, 2)))(
  'what had been read stays read, and what waited waits, when %s begins',
  async (_, begins) => {
    const world = await begin(['laptop', 'box'])
    const talked = await talk(world)
    const first = world.machines[begins] as Machine
    const second = world.machines[1 - begins] as Machine
    await expect(reconcile(second, false)).rejects.toMatchObject({ code: 'workspace.busy' })
    expect(await reconcile(first)).toMatchObject({ left: 0, kept: expect.stringContaining('.lost-') })
    // What it waits for outlives a restart.
    await first.stop()
    await first.start()
    expect(await reconcile(second)).toMatchObject({ others: 0, left: 0, kept: expect.stringContaining('.lost-') })
    await expectAll(world, talked)
    // Again, with agents connected: nothing is to be done, and nobody is disturbed.
    for (const machine of world.machines) {
      const again = await reconcile(machine, false)
      expect(again).toMatchObject(nothing)
      expect(again.kept).toBeUndefined()
    }
    await expectAll(world, talked)
  },
)

test('cut off in the middle, everything is as it was, and the same command goes on', async () => {
  const world = await begin(['laptop', 'box'])
  const talked = await talk(world)
  const { laptop, box } = talked
  await laptop.stop()
  const { dataDir } = laptop
  const database = new DataDirectory(dataDir).databasePath(workspace)
  const rows = () => {
    const store = new Store(database, [], laptop.name)
    const tables = ['journal', 'local_journal', 'messages', 'receipts', 'awaited_receipts']
    const all = tables.map((each) => store.database.prepare(`SELECT * FROM ${each}`).all())
    store.close()
    return all
  }
  const before = rows()
  const membership = new ClusterFile(dataDir).read() as ClusterMembership
  const own = { dataDir, membership, clock: systemClock, ids: makeIds(), onTrouble: () => {} }
  const cluster = new SharedWorkspaces(own)
  const cut = cluster.reconcile({ name: workspace, database, beside: [] }, (done, of) => {
    expect(done).toBeLessThanOrEqual(of)
    // Nearly all of what was lost is in the database again, and nothing of it here.
    if (done === of - 3) throw new Error('cut off')
  })
  await expect(cut).rejects.toThrow('cut off')
  await cluster.close()
  expect(rows()).toEqual(before)
  expect(readdirSync(dirname(database)).filter((name) => name.includes('.lost-'))).toEqual([])
  await laptop.start()
  expect(await reconcile(laptop)).toMatchObject({ left: 0 })
  expect(await reconcile(box)).toMatchObject({ others: 0, left: 0 })
  await expectAll(world, talked)
})

test('one command brings back all that need it, says how far it is, and goes on where somebody pressed Ctrl-C', async () => {
  const calm = 'calm'
  const world = await begin(['laptop', 'box'], [workspace, calm])
  const talked = await talk(world)
  const { laptop, box } = talked
  const [onLaptop, onBox] = [new World(laptop.dataDir), new World(box.dataDir)]
  try {
    const busy = await onLaptop.run(['cluster', 'reconcile'])
    expect(busy.code).toBe(1)
    expect(busy.stderr).toMatch(/^team: .*ada.*agent-relay cluster reconcile team --force/m)
    expect(busy.stdout).toBe('The database has all of "calm" that this machine has seen.\n')
    const refused = await onLaptop.run(['cluster', 'reconcile', '--json'])
    const { workspaces, refused: errors } = JSON.parse(refused.stdout)
    expect([refused.code, workspaces.length]).toEqual([1, 1])
    expect(errors).toMatchObject([{ name: workspace, error: { code: 'workspace.busy' } }])

    // Nothing can be stored until the lock is gone.
    await world.locked(async () => {
      const running = onLaptop.start(['cluster', 'reconcile', '--force'])
      await running.says(/reconciling team, \d+ of \d+ entries/)
      await running.stop('SIGINT')
    })
    const first = await onLaptop.run(['cluster', 'reconcile', '--force'])
    expect(first.code).toBe(0)
    expect(first.stdout).toContain('The database has all of "calm"')
    const second = await onBox.run(['cluster', 'reconcile', '--force', '--json'])
    expect(JSON.parse(second.stdout)).toMatchObject({
      workspaces: [
        { name: calm, ...nothing },
        { name: workspace, others: 0, left: 0, kept: expect.any(String) },
      ],
      refused: [],
    })
    await expectAll(world, talked)
    const again = await onLaptop.run(['cluster', 'reconcile', workspace])
    expect(again).toMatchObject({ code: 0, stdout: 'The database has all of "team" that this machine has seen.\n' })
  } finally {
    await Promise.all([onLaptop.close(), onBox.close()])
  }
})
