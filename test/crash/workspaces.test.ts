// Many workspaces in one daemon: their cost while nobody uses them, that all can be reached, and the refusal when no more fit.

import { type DaemonProcess, inTrial, sleep, type Trial } from '@agent-relay/prove/harness/processes'
import { RelayClient } from '@agent-relay/sdk'
import { socketPathOf } from '@agent-relay/sdk/internal/discover'
import { type Link, makeIds, socketConnector } from '@agent-relay/sdk/wire'
import { expect, it } from 'vitest'
import { installedRelay } from '../../packages/relay/src/cli/own-relay.ts'
import { expectNoLeak, guardMs } from '../guard.ts'
import { sized } from '../size.ts'
import { until } from '../until.ts'

const count = Number(process.env.WORKSPACES ?? sized(15, 500))
/** For each workspace its socket; and the files of those few that are still open. */
const descriptorsMax = count + 300
/** Each kill comes somewhat later than the one before. */
const laterMs = 37
const grownMbUsual = 40

const nextId = makeIds()

interface House {
  daemon: DaemonProcess
  control: Link
}

async function start(scene: Trial, hardLimit = 'unlimited'): Promise<House> {
  const limit = hardLimit === 'unlimited' ? '' : `ulimit -n ${hardLimit}; `
  const daemon = await scene.startDaemon({ wrapper: ['sh', '-c', `${limit}exec "$0" "$@"`], hasHttp: true })
  const control = await socketConnector(scene.controlPath)({})
  scene.onDispose(() => control.close())
  return { daemon, control }
}

const nameOf = (i: number) => `w${i}`
const open = ({ control }: House, workspace: string) => control.call('workspace.open', { workspace }, nextId('c'))

function weight({ daemon }: House): { descriptors: number; mb: number } {
  return { descriptors: daemon.descriptors(), mb: Math.round(daemon.rssMb()) }
}

async function client({ dataDir }: Trial, workspace: string, agentName: string): Promise<RelayClient> {
  const connect = socketConnector(socketPathOf(dataDir, workspace))
  const made = new RelayClient({ connect, agentName, autoConnect: false })
  await made.connect()
  return made
}

/** Those that nobody uses are closed, one by one; and all of them together cost little memory. */
async function expectLight(house: House, bareMb: number, when: string): Promise<void> {
  await until(() => weight(house).descriptors < descriptorsMax)
  const { descriptors, mb } = weight(house)
  console.log(`${count} workspaces, ${when}: ${descriptors} descriptors, ${mb} MB`)
  expectNoLeak(mb - bareMb, grownMbUsual)
}

it(`${count} workspaces that nobody uses cost a socket each`, { timeout: 7 * guardMs }, () =>
  inTrial({ relay: installedRelay }, async (scene) => {
    const house = await start(scene)
    const none = weight(house)
    console.log(`without workspaces: ${none.descriptors} descriptors, ${none.mb} MB`)
    for (let i = 0; i < count; i++) await open(house, nameOf(i))
    await expectLight(house, none.mb, 'just opened')
    // Each takes a message from another, acknowledged and there.
    const ada = await client(scene, nameOf(0), 'ada')
    const sent = await ada.send('*:*', 'to all')
    expect(sent).not.toHaveProperty('failed')
    await ada.disconnect()
    for (let i = 1; i < count; i++) {
      const bob = await client(scene, nameOf(i), 'bob')
      expect((await bob.call('workspace.status', {})).messages).toBe(1)
      await bob.disconnect()
    }
    await expectLight(house, none.mb, 'each visited')
    await house.control.call('daemon.stop', {}, nextId('c'))
    await house.daemon.exited
    const from = performance.now()
    const next = await start(scene)
    console.log(`started again with them in ${((performance.now() - from) / 1000).toFixed(1)} s`)
    await expectLight(next, none.mb, 'started again')
    const { workspaces } = await next.control.call('workspace.list', {}, nextId('c'))
    expect(workspaces.filter(({ open, name }) => open && /^w\d+$/.test(name))).toHaveLength(count)
    const late = await client(scene, nameOf(count - 1), 'bob')
    expect((await late.call('workspace.status', {})).messages).toBe(1)
    await late.disconnect()
  }),
)

it('at the limit of descriptors the refusal says so, and what is open goes on', () =>
  inTrial({ relay: installedRelay }, async (scene) => {
    // Node opens many files at once while it loads a program: with fewer the daemon may not come up at all.
    const limit = sized('200', '260')
    const house = await start(scene, limit)
    await open(house, 'first')
    const ada = await client(scene, 'first', 'ada')
    // Whoever is connected takes one too, and sooner than a workspace is opened.
    for (let i = 0; i < sized(120, 0); i++) {
      const idle = await socketConnector(scene.controlPath)({})
      scene.onDispose(() => idle.close())
    }
    let refused: { code?: string; message?: string } | undefined
    for (let i = 0; i < 400 && !refused; i++)
      refused = await open(house, nameOf(i)).then(
        () => undefined,
        (error) => error,
      )
    expect(refused).toMatchObject({ code: 'daemon.descriptors', message: expect.stringContaining('ulimit -n') })
    expect(refused?.message).toContain(limit)
    for (let i = 0; i < 50; i++) await ada.send('#general', `still ${i}`)
    expect((await ada.call('workspace.status', {})).messages).toBe(50)
    expect(house.daemon.child.exitCode).toBeNull()
    await ada.disconnect()
  }))

it('killed while some close and others open, nothing acknowledged is lost', { timeout: 3 * guardMs }, () =>
  inTrial({ relay: installedRelay }, async (scene) => {
    const [others, rounds] = [20, sized(1, 3)]
    const acknowledged = new Map<string, number>()
    for (let round = 0; round < rounds; round++) {
      const house = await start(scene)
      await open(house, 'home')
      for (let i = 0; i < others; i++) await open(house, nameOf(i))
      const ada = await client(scene, 'home', 'ada')
      // Each message opens a workspace and closes another: more are unused than stay open.
      const sending = (async () => {
        for (let i = 0; ; i++) {
          const name = nameOf(i % others)
          await ada.send(`${name}:*`, `round ${round}, ${i}`)
          acknowledged.set(name, (acknowledged.get(name) ?? 0) + 1)
        }
      })().catch(() => {})
      const sum = () => [...acknowledged.values()].reduce((a, b) => a + b, 0)
      await until(() => sum() > others * (round + 1))
      await sleep(round * laterMs)
      await house.daemon.end('SIGKILL')
      await ada.disconnect()
      await sending
      await house.control.close()
    }
    await start(scene)
    const sum = [...acknowledged.values()].reduce((a, b) => a + b, 0)
    console.log(`${sum} messages were acknowledged before the daemon was killed`)
    expect(sum).toBeGreaterThan(others)
    for (const [name, count] of acknowledged) {
      const bob = await client(scene, name, 'bob')
      expect((await bob.call('workspace.status', {})).messages).toBeGreaterThanOrEqual(count)
      await bob.disconnect()
    }
  }),
)
