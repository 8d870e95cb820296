// The steps of a run: one function each, drawn by chance. model.ts has the expected results.

import { type Filter, holdMs, type Item, type Letter, type SendInput } from './model.ts'
import type { Act, Actor, Expectation, Run } from './run.ts'

const names = ['ada', 'bob', 'cy', 'dee', 'eve']
const channelNames = ['#build', '#ops', '#lobby']
const threads = ['t1', 't2']
const kinds = ['status', 'question', 'directive', 'free']
const emojis = ['+1', 'eyes']
const occasions = ['answered', 'idle', 'ended']
const tenYearsMs = 10 * 365 * 24 * 3_600_000

type Step = (run: Run) => Promise<void> | void

const steps: [weight: number, step: Step][] = [
  [6, arrive],
  [3, vanish],
  [40, actOnce],
  [12, actTogether],
  [4, offerThem],
  [4, deliver],
  [6, timePasses],
  [4, again],
  [3, ask],
  [1.5, crash],
  [1, fail],
  [0.7, (run) => run.rebuild()],
  [0.15, burst],
]

export async function step(run: Run): Promise<void> {
  const chosen = run.actors.length === 0 ? arrive : run.random.weighted(steps)
  await chosen(run)
}

// Coming and going

async function arrive(run: Run): Promise<void> {
  const { random, model, tokens, formerSessions } = run
  const name = random.pick(names)
  const token = model.agents.has(name) && random.chance(0.6) ? tokens.get(name) : undefined
  const session = random.chance(0.5) ? formerSessions.get(name) : undefined
  await run.arrive({
    name,
    ...(token ? { token } : {}),
    ...(session ? { session } : {}),
    strict: random.chance(0.5),
    channels: random.chance(0.3) ? [random.pick(channelNames)] : [],
  })
}

function vanish(run: Run): void {
  run.vanish(run.random.pick(run.actors))
}

// Calls

async function actOnce(run: Run): Promise<void> {
  await run.perform([anyAct(run, run.random.pick(run.actors))])
}

/** Parallel calls, often of one agent's several sessions, or of one session before its answers have left. */
async function actTogether(run: Run): Promise<void> {
  const { random, actors } = run
  const one = random.pick(actors)
  const pool = random.chance(0.6) ? actors.filter(({ agent }) => agent === one.agent) : actors
  await run.perform(Array.from({ length: random.between(2, 4) }, () => anyAct(run, random.pick(pool))))
}

const acts: [weight: number, make: (run: Run, actor: Actor) => Act][] = [
  [40, send],
  [28, take],
  [10, read],
  [5, join],
  [5, leave],
  [1, create],
  [2, remove],
  [2, react],
  [3, askNotice],
  [1, dropNotice],
]

function anyAct(run: Run, actor: Actor): Act {
  return run.random.weighted(acts)(run, actor)
}

type Made = Expectation | { refused: string }

function act(run: Run, actor: Actor, op: string, input: object, expect: () => Made): Act {
  return { actor, op, input: input as Act['input'], id: run.nextId(), expect }
}

function anyLetter(run: Run): Letter | undefined {
  const known = run.model.letters.filter(({ id }) => id !== undefined)
  // Mostly of late: that is where things are under way.
  return known.length === 0 ? undefined : run.random.pick(run.random.chance(0.7) ? known.slice(-8) : known)
}

function anyAddress(run: Run): SendInput['to'] {
  const { random, model } = run
  const known = [...model.agents.keys()]
  return random.weighted<() => SendInput['to']>([
    [35, () => random.pick(known)],
    [12, () => random.some(known, 4)],
    [35, () => random.pick([...model.channels.keys()])],
    [10, () => '*'],
    [2, () => 'nobody'],
    [2, () => [...random.some(known, 2), 'nobody']],
    [2, () => '#nowhere'],
  ])()
}

function send(run: Run, actor: Actor): Act {
  const { random } = run
  const input: SendInput = { to: anyAddress(run), body: `word ${++run.words}` }
  if (random.chance(0.3)) input.kind = random.pick(kinds)
  if (random.chance(0.15)) input.thread = random.chance(0.5) ? random.pick(threads) : anyLetter(run)?.id
  if (random.chance(0.15)) input.replyTo = random.chance(0.05) ? 'm_never' : anyLetter(run)?.id
  if (random.chance(0.05)) Object.assign(input, { to: random.pick(channelNames), create: true })
  return sendOf(run, actor, input)
}

function sendOf(run: Run, actor: Actor, input: SendInput): Act {
  const { model } = run
  return act(run, actor, 'message.send', input, () => {
    const sent = model.send(actor.agent, input)
    if ('refused' in sent) return sent
    const { letter, to } = sent
    const direct = typeof to === 'string' ? [to].filter((name) => !/^[#*]/.test(name)) : to
    return { letter, output: { to, away: direct.filter((name) => !model.isLive(name)) } }
  })
}

function anyFilter(run: Run): Filter {
  const { random, model } = run
  const filter: Filter = {}
  if (random.chance(0.4)) filter.limit = random.between(1, 4)
  if (random.chance(0.12)) filter.from = random.pick([...model.agents.keys()])
  if (random.chance(0.15)) filter.channel = random.pick([...model.channels.keys(), '#nowhere'])
  if (random.chance(0.12)) filter.thread = random.chance(0.5) ? random.pick(threads) : (anyLetter(run)?.id ?? 't1')
  if (random.chance(0.1)) filter.unreadOnly = random.chance(0.2)
  if (random.chance(0.05)) filter.before = anyLetter(run)?.id
  return filter
}

function bodies(items: Item[]): string[] {
  return items.map(({ letter }) => letter.body)
}

function take(run: Run, actor: Actor): Act {
  const filter = anyFilter(run)
  return act(run, actor, 'inbox.take', filter, () => {
    const taken = run.model.take(actor.agent, actor.session.id, filter)
    if ('refused' in taken) return taken
    return { output: { messages: bodies(taken.items), more: taken.more }, items: taken.items, handed: taken.handed }
  })
}

function read(run: Run, actor: Actor): Act {
  const { random, model } = run
  const unread = model.unread(actor.agent).flatMap(({ letter }) => letter.id ?? [])
  const ids = random.chance(0.1) ? random.some([anyLetter(run)?.id ?? 'm_never'], 1) : random.some(unread, 3)
  const thread = random.chance(0.2) ? (anyLetter(run)?.thread ?? random.pick(threads)) : undefined
  const input = { messages: ids, ...(thread ? { thread } : {}) }
  return act(run, actor, 'inbox.read', input, () => {
    const marked = model.read(actor.agent, ids, thread)
    return 'refused' in marked ? marked : { output: marked }
  })
}

function join(run: Run, actor: Actor): Act {
  const channel = run.random.pick(channelNames)
  const create = run.random.chance(0.7)
  return act(run, actor, 'channel.join', { channel, create }, () => {
    const joined = run.model.join(actor.agent, channel, create)
    return 'refused' in joined ? joined : { output: joined }
  })
}

function remove(run: Run, actor: Actor): Act {
  const channel = run.random.pick([...channelNames, '#general'])
  return act(run, actor, 'channel.remove', { channel }, () => {
    const removed = run.model.remove(actor.agent, channel)
    return 'refused' in removed ? removed : { output: removed }
  })
}

function leave(run: Run, actor: Actor): Act {
  const channel = run.random.pick([...channelNames, '#general'])
  return act(run, actor, 'channel.leave', { channel }, () => {
    const left = run.model.leave(actor.agent, channel)
    return 'refused' in left ? left : { output: left }
  })
}

function create(run: Run, actor: Actor): Act {
  const channel = run.random.pick(channelNames)
  return act(run, actor, 'channel.create', { channel }, () => {
    const created = run.model.create(actor.agent, channel)
    return 'refused' in created ? created : { output: created }
  })
}

function react(run: Run, actor: Actor): Act {
  const [message, emoji, remove] = [anyLetter(run)?.id ?? 'm_never', run.random.pick(emojis), run.random.chance(0.4)]
  return act(run, actor, 'message.react', { message, emoji, remove }, () => {
    const reacted = run.model.react(actor.agent, message, emoji, remove)
    return 'refused' in reacted ? reacted : { output: reacted }
  })
}

function askNotice(run: Run, actor: Actor): Act {
  const { random, model } = run
  const agent = random.chance(0.05) ? 'nobody' : random.pick([...model.agents.keys()])
  const when = random.chance(0.7) ? 'answered' : random.pick(occasions)
  return act(run, actor, 'notice.ask', { agent, when }, () => {
    const asked = model.ask(actor.agent, agent, when)
    return 'refused' in asked ? (asked as { refused: string }) : { output: asked }
  })
}

function dropNotice(run: Run, actor: Actor): Act {
  const agent = run.random.pick([...run.model.agents.keys()])
  return act(run, actor, 'notice.drop', { agent }, () => {
    const dropped = run.model.drop(actor.agent, agent)
    return 'refused' in dropped ? dropped : { output: dropped }
  })
}

// What the daemon does by itself

async function offerThem(run: Run): Promise<void> {
  const { random, model } = run
  const actor = random.pick(run.actors)
  const route = random.pick(['push', 'paste', 'hint', 'hook', 'rewake', 'app-server', 'http', 'wait', 'tool'])
  const own = (model.agents.get(actor.agent) ?? []).flatMap(({ letter }) => letter.id ?? [])
  const ids = [...new Set(random.chance(0.05) ? [anyLetter(run)?.id ?? 'm_never'] : random.some(own, 3))]
  run.note(`${actor.agent} is offered ${ids.length} by ${route}`)
  model.stamp(run.now)
  await run.expect('an offer', { rule: 'inbox.offer', actor, input: { messages: ids, route } }, () =>
    model.offer(actor.agent, actor.session.id, ids, route),
  )
}

async function deliver(run: Run): Promise<void> {
  const { random, model } = run
  const actor = random.pick(run.actors)
  const limit = random.between(1, 8)
  run.note(`${actor.agent}/${actor.session.id.slice(-4)} is delivered up to ${limit}`)
  model.stamp(run.now)
  await run.expect('a delivery', { rule: 'inbox.take', actor, input: { route: 'deliver', limit } }, () => {
    const taken = model.take(actor.agent, actor.session.id, { limit }, 'deliver')
    if ('refused' in taken) return taken
    return { messages: taken.items.map(({ letter }) => letter.id), more: taken.more }
  })
}

function timePasses(run: Run): void {
  const { random } = run
  run.now += random.weighted<() => number>([
    [40, () => random.between(0, 5_000)],
    [20, () => random.between(0, holdMs)],
    [15, () => holdMs],
    [15, () => holdMs + 1],
    [10, () => holdMs - 1],
    [20, () => -random.between(0, 2 * holdMs)],
    // A wrong year, and the right one again.
    [4, () => tenYearsMs],
    [4, () => -tenYearsMs],
  ])()
  run.note(`the clock says ${run.now}`)
}

// Looking, repeating, failing

async function ask(run: Run): Promise<void> {
  const actor = run.random.pick(run.actors)
  if (run.random.chance(0.3)) {
    const count = () => ({ output: run.model.count(actor.agent, run.now) })
    return run.perform([act(run, actor, 'inbox.count', {}, count)])
  }
  const filter = anyFilter(run)
  const peek = act(run, actor, 'inbox.peek', filter, () => {
    if (filter.channel !== undefined && !run.model.channels.has(filter.channel)) return { refused: 'channel.unknown' }
    if (run.model.isHidden(actor.agent, filter.before)) return { refused: 'message.unknown' }
    const { items, more } = run.model.peek(actor.agent, filter)
    return { output: { messages: bodies(items), more } }
  })
  await run.perform([peek])
}

async function again(run: Run): Promise<void> {
  const { random, actors, done } = run
  if (done.length === 0) return
  const repeated = random.pick(done.slice(-12))
  const own = actors.filter(({ agent }) => agent === repeated.act.actor.agent)
  if (own.length === 0) return
  const { op, input } = repeated.act
  const actor = random.pick(own)
  if (op === 'message.send' && random.chance(0.3)) await run.reuse(repeated, actor, { ...input, body: 'never said' })
  else await run.repeat(repeated, actor)
}

async function crash(run: Run): Promise<void> {
  const { random, actors } = run
  const underWay = random.chance(0.5) ? random.some(actors, 3).map((actor) => anyAct(run, actor)) : []
  run.crash(underWay)
  for (const lost of underWay) {
    const { agent } = lost.actor
    if (!run.actors.some((actor) => actor.agent === agent)) await run.arrive({ name: agent, strict: true })
    const actor = run.actors.find((each) => each.agent === agent) as Actor
    lost.actor.session = actor.session
    await run.perform([lost])
  }
}

async function fail(run: Run): Promise<void> {
  const { random, actors, model } = run
  const by = random.pick(actors).agent
  const profile = { name: `late${run.words}`, handle: `h${run.words}`, channels: ['#late'] }
  const commands = [
    { rule: 'message.send' as const, by, input: { to: random.pick([...model.channels.keys()]), body: 'never stored' } },
    {
      ...{ rule: 'agent.register' as const, by: profile.name },
      input: { ...profile, proven: false, mayRetake: true, isHolder: false, tokenHash: 'h' },
    },
    { rule: 'channel.create' as const, by, input: { channel: '#never' } },
  ]
  await run.fail(random.some(commands, 3))
}

/** Long enough that a sender's own messages move its cursor, which happens at every 64th. */
async function burst(run: Run): Promise<void> {
  const { random, model } = run
  const actor = random.pick(run.actors)
  const to = random.pick(['#general', '*', ...[...model.agents.keys()].filter((name) => name !== actor.agent)])
  const count = random.between(30, 70)
  await run.perform(Array.from({ length: count }, () => sendOf(run, actor, { to, body: `word ${++run.words}` })))
}
