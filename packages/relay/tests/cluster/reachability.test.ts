// A machine that cannot go on with a shared workspace: it is told at once, and its agents still read what has arrived.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { PlayClock } from '../../../../test/plays/clock.ts'
import { refused } from '../../../../test/plays/play.ts'
import { until } from '../../../../test/until.ts'
import { ClusterUnreachable, type StopReason } from '../../src/cluster/cluster-journal.ts'
import type { HaltReason } from '../../src/cluster/replica.ts'
import { soundWire } from './fake-cluster.ts'
import { LaptopAndBox, workspace } from './laptop-and-box.ts'
import { endAll, SharedDaemon, said, team } from './shared-daemon.ts'

describe('the engine', () => {
  afterEach(endAll)

  /** `daemon` has a message for cy, who is at home there. */
  async function withMail(wire = soundWire, clock = new PlayClock()) {
    const { cluster, daemons, settled } = await team('one')
    const [a] = daemons as [SharedDaemon]
    const daemon = new SharedDaemon(cluster, 'train', wire, clock)
    await daemon.register('cy')
    await settled()
    const sent = await a.give('message.send', 'ada', { to: 'cy', body: 'x' })
    const id = 'refusal' in sent ? '' : (sent.outcome.id as string)
    await until(() => daemon.store.view.message(id) !== undefined)
    return { daemon, clock, id }
  }

  const send = (daemon: SharedDaemon) => daemon.give('message.send', 'cy', { to: 'ada', body: 'y' })
  const take = async (daemon: SharedDaemon) => {
    const reply = await daemon.give('inbox.take', 'cy', { limit: 5 })
    return 'refusal' in reply ? reply.refusal.code : reply.outcome.messages
  }

  test('a cluster that has not answered for long keeps nobody waiting, until it answers again', async () => {
    let isCut = false
    const { daemon, clock, id } = await withMail({
      ...soundWire,
      there: async () => {
        if (isCut) throw new ClusterUnreachable('no way', true)
      },
    })
    expect(daemon.reachability.cutOff).toBeUndefined()
    isCut = true
    const first = send(daemon)
    const wasTold = first.then(() => true)
    while (!(await Promise.race([wasTold, clock.passes(1_000)])));
    expect(said(await first)).toBe('cluster.unreachable')
    await clock.passes(1_000)
    expect(daemon.reachability.cutOff).toMatchObject({ place: 'db.example:5432/relay', why: 'no way' })
    // No time passes any more.
    const reply = await send(daemon)
    const text = /cannot be reached \(db\.example:5432\/relay, last heard of \d+ s ago: no way\): nothing was stored/
    expect(reply).toMatchObject({ refusal: { code: 'cluster.unreachable', message: expect.stringMatching(text) } })
    expect(await take(daemon)).toEqual([id])
    expect(said(await daemon.give('inbox.read', 'cy', { messages: [id] }))).not.toBe('cluster.unreachable')
    isCut = false
    await until(async () => {
      await clock.passes(1_000)
      return daemon.reachability.cutOff === undefined
    })
    expect(said(await send(daemon))).toEqual(expect.any(Number))
  })

  const stops: [StopReason | HaltReason, string][] = [
    [{ kind: 'diverged', head: 1 }, 'cluster.diverged'],
    [{ kind: 'newer' }, 'cluster.newer'],
    [{ kind: 'removed' }, 'cluster.removed'],
    [{ kind: 'revoked' }, 'machine.revoked'],
    [{ kind: 'forged', machine: 'one', seq: 9 }, 'cluster.forged'],
  ]
  test.each(stops)('%o: what has come is read, and stays read; nothing is sent', async (stop, code) => {
    const { daemon, id } = await withMail()
    daemon.engine.stop(stop)
    expect(daemon.engine.stopped?.code).toBe(code)
    expect(said(await send(daemon))).toBe(code)
    expect(await take(daemon)).toEqual([id])
    await daemon.give('inbox.read', 'cy', { messages: [id] })
    expect(daemon.store.view.receipt('cy', daemon.store.view.message(id) as never)?.readAt).toBeDefined()
    expect(await take(daemon)).toEqual([])
  })

  test('another daemon has its identity: it hands out nothing, since the other one does', async () => {
    const { daemon } = await withMail()
    daemon.engine.stop({ kind: 'fenced' })
    expect(await take(daemon)).toBe('machine.fenced')
  })
})

describe('a laptop and a box', () => {
  let place: LaptopAndBox
  const troubles: string[] = []
  const entry = async () => {
    const { workspaces } = await place.laptop.control('workspace.list', {})
    return workspaces.find(({ name }) => name === workspace)
  }
  const asAdmin = (text: string) => place.world.asAdmin((client) => client.query(text))

  beforeAll(async () => {
    place = await LaptopAndBox.start(({ message }) => troubles.push(message))
  })
  afterAll(() => place?.close())

  test('an agent whose machine has stopped is away; one whose machine is silent is unreachable, since when', async () => {
    const alice = await place.enter(place.laptop, 'alice')
    const bob = await place.enter(place.box, 'bob')
    await bob.send('alice', 'are you there?')
    await until(async () => (await alice.send('bob', 'yes')).away.length === 0)
    await bob.leaves()
    await place.box.stop()
    await until(async () => (await alice.send('bob', 'hello?')).away.includes('bob'))
    const silence = (agents: string) =>
      asAdmin(`UPDATE relay.presence SET agents = '${agents}', seen_at = now() - interval '20 s',
        stamp = (extract(epoch FROM now()) * 1000000)::bigint WHERE machine = (SELECT id FROM relay.machines WHERE name = 'box')`)
    await silence('"closed"')
    await until(async () => !(await place.laptop.open(workspace)).workspace.otherMachines.isReached('box'))
    expect((await alice.send('bob', 'asleep?')).unreachable).toBeUndefined()
    await silence('[{"name":"bob","status":"idle","lastCallAt":1}]')
    await until(async () => (await alice.send('bob', 'hello?')).unreachable)
    expect(await alice.send('bob', 'hello?')).toMatchObject({
      away: [],
      unreachable: [{ name: 'bob', machine: 'box', since: expect.stringMatching(/^\d{4}-/) }],
    })
    const { agents } = await alice.call('agent.list', {})
    expect(agents.find(({ name }) => name === 'bob')).toMatchObject({
      status: 'unreachable',
      machine: 'box',
      machineSeenAt: expect.any(String),
    })
    await alice.leaves()
  })

  test('the list of workspaces says that the database does not answer, and no more once it does', async () => {
    place.server.kill()
    await until(async () => (await entry())?.cutOff)
    expect((await entry())?.cutOff).toMatchObject({
      place: expect.stringContaining('relay'),
      since: expect.any(String),
    })
    await place.server.resume()
    await until(async () => (await entry())?.cutOff === undefined)
  })

  test('a database that has lost what it had: said in the log once, in the list with what helps; what came can be read', async () => {
    const [alice, dora] = [await place.enter(place.laptop, 'alice'), await place.enter(place.laptop, 'dora')]
    await alice.takes('are you there?')
    await dora.send('alice', 'read me')
    await asAdmin('DELETE FROM relay.journal WHERE seq = (SELECT max(seq) FROM relay.journal)')
    await asAdmin('UPDATE relay.workspaces SET head = head - 1, decided = least(decided, head - 1)')
    await until(async () => (await entry())?.stopped)
    const fix = `agent-relay cluster reconcile ${workspace}`
    expect((await entry())?.stopped).toMatchObject({ code: 'cluster.diverged', text: expect.stringContaining(fix) })
    expect(troubles.filter((text) => text.includes(fix))).toHaveLength(1)
    await refused(dora.send('alice', 'more'), 'cluster.diverged', /reconcile/)
    await alice.takes('read me')
    await alice.takes()
  })
})
