// The person whose daemon it is: known in every workspace before the first visit, under a name that no agent can take, and told what waits where without a look
// that opens anything.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { RelayClient } from '@agent-relay/sdk'
import { controlSocketPath } from '@agent-relay/sdk/internal/discover'
import type { Hello } from '@agent-relay/sdk/wire'
import { socketConnector } from '@agent-relay/sdk/wire'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { until } from '../../../../test/until.ts'
import { Daemon, type DaemonOptions } from '../../src/daemon/daemon.ts'

let dir: string
let daemon: Daemon
const clients: RelayClient[] = []
const troubles: Error[] = []

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'relay-person-'))
})
afterEach(async () => {
  for (const client of clients.splice(0)) await client.disconnect()
  await daemon.stop()
  rmSync(dir, { recursive: true, force: true })
  expect(troubles.splice(0)).toEqual([])
})

async function start(more: Partial<DaemonOptions> = {}): Promise<void> {
  const options = { dataDir: dir, credentialsPath: join(dir, 'credentials.json'), human: 'kim', onStop: () => {} }
  daemon = (await Daemon.start({ ...options, onTrouble: (error) => void troubles.push(error), ...more })) as Daemon
}

async function enter(workspace: string, hello: Hello): Promise<RelayClient> {
  const { entry } = await daemon.open(workspace)
  const open = socketConnector(entry.socketPath)
  const made = new RelayClient({ connect: (own) => open({ ...own, ...hello }), autoConnect: false })
  clients.push(made)
  await made.connect()
  return made
}

async function overview() {
  const link = await socketConnector(controlSocketPath(dir))({})
  return (await link.call('workspace.overview', {}, 'c_overview').finally(() => link.close())).workspaces
}

const personsNeeds = async (key: string) => {
  const kim = await enter('shop', { name: 'kim', key, type: 'human' })
  return (await kim.call('need.list', {})).needs
}

it('gets messages in a workspace before the first visit, alone and in a group, and finds them in what needs them', async () => {
  await start()
  const { key = '' } = await daemon.open('shop')
  const ann = await enter('shop', { name: 'ann' })
  await enter('shop', { name: 'bob' })
  expect(await ann.send('kim', 'May I push?', { kind: 'question' })).toMatchObject({ to: 'kim', away: ['kim'] })
  await ann.send(['bob', 'kim'], 'To both of you.')
  const [asked, told] = await personsNeeds(key)
  expect(asked).toMatchObject({ kind: 'question', who: 'ann', text: 'May I push?' })
  expect(told).toMatchObject({ kind: 'mention', who: 'ann', text: 'To both of you.' })
  const { agents } = await ann.call('agent.list', { includeOffline: true })
  expect(agents.find(({ name }) => name === 'kim')?.type).toBe('human')
  await expect(ann.send('kin', 'Hello?')).rejects.toMatchObject({ code: 'agent.unknown' })
  await expect(ann.send(['kim', 'nobody'], 'Hello?')).rejects.toMatchObject({ code: 'agent.unknown' })
})

it('is written to from another workspace before the first visit there', async () => {
  await start()
  const { key = '' } = await daemon.open('shop')
  const ann = await enter('home', { name: 'ann' })
  expect(await ann.send('shop:kim', 'From home.')).toMatchObject({ away: ['shop:kim'] })
  expect(await personsNeeds(key)).toMatchObject([{ who: 'home:ann', text: 'From home.' }])
})

it('becomes known by a message alone: a mere look and a message to others leave the workspace as it was', async () => {
  await start()
  const ann = await enter('shop', { name: 'ann' })
  await ann.send('#general', 'Good morning, @kim.')
  await overview()
  const { agents } = await ann.call('agent.list', { includeOffline: true })
  expect(agents.map(({ name }) => name)).toEqual(['ann'])
})

it('has a name that no agent can take, nor one that reads like it, before the first visit', async () => {
  await start()
  const { key = '' } = await daemon.open('shop')
  const denied = { code: 'auth.denied', message: expect.stringContaining('kim is a person') }
  await expect(enter('shop', { name: 'kim' })).rejects.toMatchObject(denied)
  await expect(enter('shop', { name: 'kim', strict: true })).rejects.toMatchObject(denied)
  for (const name of ['KIM', 'k.i.m', 'Kim_'])
    await expect(enter('shop', { name, strict: true })).rejects.toMatchObject({ code: 'agent.handle-taken' })
  const numbered = await enter('shop', { name: 'Kim' })
  expect(numbered.agentName).toBe('Kim-2')
  await expect(enter('shop', { name: 'ann', handle: 'K-i-m' })).rejects.toMatchObject({ code: 'agent.handle-taken' })
  const ann = await enter('shop', { name: 'ann' })
  await expect(ann.call('agent.register', { name: 'kim' })).rejects.toMatchObject({ code: 'auth.denied' })
  const worker = { name: 'kim', cli: 'claude', command: [process.execPath, '-e', ''] }
  await expect(ann.call('worker.spawn', worker)).rejects.toMatchObject({ code: 'agent.handle-taken' })
  // Whoever shows the key may act as anybody, and is the person under the person's name.
  const holder = await enter('shop', { name: 'kim', key })
  const { agents } = await holder.call('agent.list', {})
  expect(agents.find(({ name }) => name === 'kim')?.type).toBe('human')
})

it('leaves the name to an agent that had it before there was a person', async () => {
  await start({ human: undefined })
  const first = await enter('shop', { name: 'kim' })
  await first.disconnect()
  await daemon.stop()
  await start()
  const ann = await enter('shop', { name: 'ann' })
  await ann.send('kim', 'Still there?')
  const back = await enter('shop', { name: 'kim' })
  const { messages } = await back.call('inbox.take', {})
  expect(messages.map(({ body }) => body)).toEqual(['Still there?'])
})

it('sees in one look who is connected and what waits, also in a workspace at rest, which stays at rest', async () => {
  await start({ restLimits: { idleMs: 40 } })
  const { key = '' } = await daemon.open('shop')
  const ann = await enter('shop', { name: 'ann' })
  await ann.send('kim', 'May I?', { kind: 'question' })
  await enter('home', { name: 'bob' })
  expect(await overview()).toEqual([
    { name: 'home', agents: ['bob'], needs: 0 },
    { name: 'shop', agents: ['ann'], needs: 1 },
  ])
  await ann.disconnect()
  const resting = { name: 'shop', agents: [], needs: 1, atRest: true }
  await until(async () => (await overview()).some(({ atRest }) => atRest))
  expect((await overview())[1]).toEqual(resting)
  expect((await overview())[1]).toEqual(resting)
  const [need] = await personsNeeds(key)
  const kim = await enter('shop', { name: 'kim', key, type: 'human' })
  await kim.call('need.dismiss', { key: need?.key as string })
  expect((await overview())[1]).toEqual({ name: 'shop', agents: [], needs: 0 })
})

it('is told the number of things that wait also where somebody came while they were counted for the rest', async () => {
  await start({ restLimits: { idleMs: 8 } })
  for (let sent = 1; sent <= 12; sent++) {
    const ann = await enter('shop', { name: 'ann' })
    await ann.send('kim', `Question ${sent}?`, { kind: 'question' })
    await ann.disconnect()
    // Each time at another moment of the count.
    await sleep(sent)
  }
  await until(async () => (await overview()).some(({ atRest }) => atRest))
  expect(await overview()).toEqual([{ name: 'shop', agents: [], needs: 12, atRest: true }])
})

it('is the only one who may look: an agent is refused', async () => {
  await start()
  const { entry } = await daemon.open('shop')
  // An agent whose host is this very process, as an editor that has started our MCP server.
  const link = await socketConnector(entry.socketPath)({ name: 'ann', host: process.pid })
  await link.call('agent.list', {}, 'c_list')
  const control = await socketConnector(controlSocketPath(dir))({ process: process.pid })
  const asked = control.call('workspace.overview', {}, 'c_look')
  await expect(asked).rejects.toMatchObject({ code: 'person.required' })
  await control.close()
  await link.close()
})
