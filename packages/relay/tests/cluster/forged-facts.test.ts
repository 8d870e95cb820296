// Every fact, forged by a machine that keeps no rules: said of another machine's things, with another machine's name inside, as another's agent,
// and after the machine was removed. Made from the table of facts, so that a new fact is tried without a new test.

import type { Fact } from '@agent-relay/sdk/protocol'
import { afterEach, expect, test } from 'vitest'
import { dump } from '../../../../test/sim/audit.ts'
import { until } from '../../../../test/until.ts'
import type { CommandReply } from '../../src/broker/engine.ts'
import type { ChangedKeys } from '../../src/cluster/cluster-journal.ts'
import { changedKeysOf } from '../../src/cluster/keys.ts'
import type { RuleInput, RuleName } from '../../src/core/decide.ts'
import { factRowOf, factTypes, malformedField } from '../../src/core/facts/table.ts'
import { type Cast, samples } from '../core/fact-samples.ts'
import { endAll, type SharedDaemon, said, team } from './shared-daemon.ts'

afterEach(endAll)

const outcome = (reply: CommandReply): Record<string, unknown> => {
  if ('refusal' in reply) throw new Error(reply.refusal.message)
  return reply.outcome
}

/** All that an agent can have: a worker, a run, an approval, an action, a call of it, a claim, and mail. */
async function equip(daemon: SharedDaemon, agent: string, machine: string): Promise<Cast> {
  const give = async <R extends RuleName>(rule: R, by: string, input: unknown) =>
    outcome(await daemon.give(rule, by, input as RuleInput<R>))
  const [worker, action] = [`${agent}-worker`, `${agent}.do`]
  const spawn = { name: worker, cli: 'fake', command: ['fake'], args: [], cwd: '/', isInjected: false }
  const { id } = await give('worker.spawn', agent, spawn)
  const { run } = await give('run.start', agent, { contract: 'x', harness: 'external' })
  const choices = [{ id: 'yes', label: 'Yes', kind: 'allow' }]
  const asked = { agent, vendor: 'claude', tool: 'Bash', input: 'rm -rf ~', isExact: true, choices, digest: 'd' }
  const { id: approval } = await give('approval.open', 'agent-relay', asked)
  await give('action.register', agent, { name: action, description: 'x', inputSchema: {} })
  const { id: call } = await give('action.invoke', agent, { name: action, inputJson: '{}', inputBytes: 2 })
  const place = { path: `/${agent}/file.ts`, root: `/${agent}`, file: 'file.ts', repository: `/${agent}/.git` }
  await give('claim.edit', agent, { places: [place], hasOthers: true })
  const { id: message } = await give('message.send', agent, { to: '#general', body: 'hello' })
  const made = { worker: { id: id as string, name: worker }, run, approval, action, call, message } as Cast
  return { ...made, agent, machine, next: 'rogue', epoch: 1, fresh: `of-${agent}` }
}

/** desk owns the workspace, and ada is at home there; mallory is at home on rogue, which has kept the rules so far. */
async function equipped() {
  const world = await team('desk', 'laptop', 'rogue')
  const [desk, laptop, rogue] = world.daemons as [SharedDaemon, SharedDaemon, SharedDaemon]
  await rogue.register('mallory')
  const ada = await equip(desk, 'ada', 'desk')
  const mallory = await equip(rogue, 'mallory', 'rogue')
  await world.settled()
  // Once it has begun to forge, rogue's own daemon takes in nothing more.
  const settled = async () =>
    void (await until(() =>
      [desk, laptop].every(({ store }) => store.journal.lastSeq === world.cluster.entries.length),
    ))
  const forge = async (facts: readonly Fact[], by = 'agent-relay', writes?: ChangedKeys, cause?: string) => {
    const { seq, mark } = world.cluster.entries.at(-1) as { seq: number; mark: string }
    const drafts = facts.map((fact, i) => ({
      at: 1,
      by,
      cause: cause ?? `forged ${seq} ${i}`,
      rule: 'x',
      outcome: {},
      facts: [fact],
      writes: writes ?? changedKeysOf([fact]),
    }))
    const append = { position: { seq, mark }, reads: [], drafts }
    const appended = await world.cluster.start('rogue').append(append)
    await settled()
    return appended
  }
  const rows = () => [desk, laptop].map(({ store }) => dump(store.database))
  const voids = () => desk.store.journal.voidEntries(1_000)
  return { ...world, settled, desk, laptop, rogue, ada, mallory, forge, rows, voids }
}

/** They change nothing that is another's: a name is taken for a conversation that nobody has. */
const anybodys = ['channel.created']

test('said of what is on another machine it changes no row, and names who said it', async () => {
  const { ada, forge, rows, voids, desk, laptop } = await equipped()
  const types = factTypes.filter((type) => !anybodys.includes(type))
  const before = rows()
  await forge(types.map((type) => samples[type](ada)))
  const told = voids()
  expect(told.map(({ machine }) => machine)).toEqual(types.map(() => 'rogue'))
  expect(laptop.store.journal.voidEntries(1_000)).toEqual(told)
  expect(rows()).toEqual(before)
  desk.store.rebuild()
  expect(rows()).toEqual(before)
})

test('with the name of another machine inside it changes no row', async () => {
  const { mallory, forge, rows, voids } = await equipped()
  const cast = { ...mallory, machine: 'desk', next: 'desk', fresh: 'new' }
  const facts = factTypes.map((type) => samples[type](cast)).filter((fact) => 'machine' in fact)
  const before = rows()
  // An agent may be given away by its home: the one thing of these that is its own to say.
  const forged = facts.filter(({ type }) => type !== 'agent.homed')
  await forge(forged)
  expect(voids().length).toBe(forged.length)
  expect(rows()).toEqual(before)
})

test('said by a machine that was removed it changes no row', async () => {
  const { cluster, mallory, forge, rows, voids, settled } = await equipped()
  cluster.proclaim([{ type: 'machine.revoked', machine: 'rogue' }])
  await settled()
  const before = rows()
  await forge(factTypes.map((type) => samples[type](mallory)))
  expect(voids().length).toBe(factTypes.length)
  expect(rows()).toEqual(before)
})

test('with a field that is not what it must be it changes no row', async () => {
  const { ada, cluster, desk, settled, voids, rows } = await equipped()
  const before = rows()
  const broken = factTypes.flatMap((type) => {
    const fact = samples[type](ada)
    const shape = factRowOf(fact).shape as Record<string, (value: unknown) => boolean>
    const fields = Object.keys(shape).filter((name) => name in fact)
    return fields.flatMap((name) =>
      [{ __proto__: null }, [[]], -0.5, null]
        .filter((value) => !shape[name]?.(value))
        .map((value) => ({ ...fact, [name]: value })),
    )
  })
  // Said by the administrator, who may say anything, so that only the shape is in question.
  for (const fact of broken) cluster.proclaim([fact as never])
  await settled()
  const told = voids()
  expect(told.length).toBe(broken.length)
  expect(rows()).toEqual(before)
  expect(said(await desk.give('message.send', 'ada', { to: 'bob', body: 'on we go' }))).toBe(cluster.entries.length)
})

test('no text in a fact is longer than a list can show, and nothing in a name begins another line', async () => {
  const { ada } = await equipped()
  const long = 'x'.repeat(1_000_000)
  const swallowed = factTypes.flatMap((type) => {
    const fact = samples[type](ada)
    const shape = factRowOf(fact).shape as Record<string, (value: unknown) => boolean>
    const bare = Object.keys(shape).filter((name) => [long, [long], { x: long }].some((value) => shape[name]?.(value)))
    const deep = withEachText(fact, long).filter((forged) => malformedField(forged as Fact) === undefined)
    const named = ['agent', 'worker', 'from', 'channel', 'conversation', 'machine'].filter((name) =>
      shape[name]?.('a\nb'),
    )
    return [...bare, ...deep, ...named].map((found) => [type, found])
  })
  expect(swallowed).toEqual([])
})

/** The value once for each text inside it but its type, with another text in the place of that one. */
function withEachText(value: unknown, text: string): unknown[] {
  if (typeof value === 'string') return [text]
  if (typeof value !== 'object' || value === null) return []
  const into = (name: string, other: unknown) =>
    Array.isArray(value) ? value.with(Number(name), other) : { ...value, [name]: other }
  return Object.entries(value)
    .filter(([name]) => name !== 'type')
    .flatMap(([name, inner]) => withEachText(inner, text).map((other) => into(name, other)))
}

test('an author whose name is no line makes it void, and is not repeated', async () => {
  const { forge, voids, rows } = await equipped()
  const before = rows()
  for (const by of ['notes:x\ny', `notes:${'x'.repeat(1_000_000)}`])
    await forge([{ type: 'channel.created', channel: '#new' }], by)
  expect(voids().map(({ why }) => why)).toEqual(Array(2).fill('its text is malformed or too long'))
  expect(rows()).toEqual(before)
})

test('in the name of another agent, or of nobody, it changes no row', async () => {
  const { forge, voids, rows } = await equipped()
  const before = rows()
  const fact: Fact = { type: 'channel.created', channel: '#new' }
  for (const by of ['ada', 'nobody']) await forge([fact], by)
  expect(voids().map(({ why }) => why)).toEqual(['nobody', 'ada'].map((by) => `rogue may not speak for ${by}`))
  expect(rows()).toEqual(before)
})

test('the facts that are forged here are well formed, so that they are judged by who says them', async () => {
  const { ada, mallory } = await equipped()
  for (const cast of [ada, mallory])
    expect(factTypes.filter((type) => malformedField(samples[type](cast)) !== undefined)).toEqual([])
})

test('without all that it changes it changes no row: whoever decides at that moment would overlook it', async () => {
  const { mallory, forge, voids, rows } = await equipped()
  const own = { ...mallory, next: 'desk', fresh: 'new' }
  const before = rows()
  const facts = factTypes.map((type) => samples[type](own)).filter((fact) => [changedKeysOf([fact])].flat().length > 0)
  const changing = facts.filter(({ type }) => type !== 'deliveries.noted')
  for (const writes of [[], 'note'] as const) await forge(changing, 'agent-relay', writes)
  const told = voids()
  expect(told.length).toBe(2 * changing.length)
  expect(new Set(told.map(({ why }) => why))).toEqual(new Set(['its list of conflict keys is incomplete']))
  expect(rows()).toEqual(before)
})

test('nobody uses up the id of a command that another agent gives', async () => {
  const { cluster, desk, forge, voids } = await equipped()
  const cause = 'a command of ada'
  await forge([{ type: 'channel.created', channel: '#new' }], 'ada', [], cause)
  const seq = cluster.entries.length + 1
  expect(said(await desk.give('message.send', 'ada', { to: 'mallory', body: 'x' }, cause))).toBe(seq)
  expect(voids().length).toBe(1)
})

test('what a machine says of its own things counts', async () => {
  const { mallory, forge, voids, cluster, desk } = await equipped()
  const own = { ...mallory, next: 'desk', fresh: 'new' }
  const types = [
    'agent.updated',
    'reaction.added',
    'worker.wish-changed',
    'worker.interrupted',
    'worker.changed',
    'run.stopped',
    'approval.closed',
  ] as const
  await forge([...types.map((type) => samples[type](own)), samples['channel.created'](own), samples['claim.made'](own)])
  expect(voids()).toEqual([])
  expect(desk.store.journal.lastSeq).toBe(cluster.entries.length)
})

test('a worker runs on the machine that has written it down, whatever the fact says, also where formats were not raised', async () => {
  const { ada, desk, rows } = await equipped()
  const fact = samples['worker.wished']({ ...ada, machine: 'desk' })
  const before = rows()
  const { store } = desk
  store.runAndRollBack(() => {
    const entry = {
      seq: store.journal.lastSeq + 1,
      at: 1,
      by: 'mallory',
      cause: 'x',
      rule: 'x',
      outcome: {},
      facts: [fact],
    }
    store.apply([{ ...entry, machine: 'rogue', mark: 'k' }])
    expect(store.view.workers.byId(fact.id)?.machine).toBe('rogue')
  })
  expect(rows()).toEqual(before)
})
