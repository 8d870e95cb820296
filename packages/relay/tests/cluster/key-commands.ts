// Commands of every rule over few names, so that they often touch the same things: for the property that keys must keep. No tests.

import { makeIds } from '@agent-relay/sdk/protocol'
import { Random } from '../../../../test/sim/random.ts'
import { type RuleInput, type RuleName, ruleOf } from '../../src/core/decide.ts'
import type { Verdict } from '../../src/core/verdict.ts'
import type { View } from '../../src/core/view.ts'
import { Store } from '../../src/store/store.ts'

export interface Given {
  rule: RuleName
  by: string
  input: object
  /** Of what it makes; another command may name it before it exists. */
  mint: string
  session: string
}

/** A workspace in some state, as a seed says. */
export class KeyWorld {
  readonly store = new Store(':memory:')
  readonly random: Random
  readonly #live: Set<string>
  #at = 1_700_000_000_000
  readonly #ids = makeIds(
    () => this.#at,
    (bytes) => this.random.bytes(bytes),
  )
  /** Ids that commands have made, and ids that the last ones would make; by their letters. */
  readonly #made: Record<string, string[]> = { m: [], act: [], wk: [], run: [] }
  readonly #coming: Record<string, string[]> = { m: [], act: [], wk: [], run: [] }

  constructor(seed: number, commands = 60) {
    this.random = new Random(seed)
    this.#live = new Set(this.random.some([...names, ...sessions], 6))
    this.keep({
      rule: 'workspace.begin',
      by: 'agent-relay',
      input: { id: 'w', keyHash: 'k' },
      mint: 'a_0',
      session: '',
    })
    for (const name of names.slice(0, 4)) this.keep(this.command('agent.register', name))
    for (let i = 0; i < commands; i++) this.keep(this.command())
  }

  decide({ rule, by, input, mint, session }: Given, view: View = this.store.view): Verdict {
    const world = {
      machine: 'here',
      isLive: (agent: string) => this.#live.has(agent),
      liveSession: (hold: string) => (this.#live.has(hold) ? hold : undefined),
    }
    return ruleOf(rule)(view, { input: input as never, by, at: this.#at, mint, session, world })
  }

  write(given: Given, verdict: Verdict): void {
    if ('refusal' in verdict || verdict.facts.length === 0) return
    const { rule, by } = given
    this.store.append({ at: this.#at, by, cause: this.#ids('c'), rule, ...verdict })
  }

  keep(given: Given): void {
    this.#at += 10
    const verdict = this.decide(given)
    this.store.transact(() => this.write(given, verdict))
    if (!('refusal' in verdict)) this.#made[kinds[given.rule] ?? 'a']?.push(given.mint)
  }

  command(rule: RuleName = this.random.pick(pool), by = this.#someone(rule)): Given {
    const letters = kinds[rule] ?? 'a'
    const mint = this.#ids(letters)
    const input = inputs[rule]?.({ random: this.random, made: (kind) => this.#named(kind), by }) ?? {}
    this.#coming[letters]?.push(mint)
    return { rule, by, input, mint, session: this.random.pick(sessions) }
  }

  /** Who registers may be new; all others are known. */
  #someone(rule: RuleName): string {
    if (rule === 'agent.register') return this.random.pick(names)
    if (rule === 'message.send' && this.random.chance(0.1)) return 'agent-relay'
    return this.random.pick([...this.store.view.agents()]).name
  }

  /** One that was made, or one that another command is about to make. */
  #named(kind: string): string {
    const [made, coming] = [this.#made[kind] ?? [], this.#coming[kind] ?? []]
    return this.random.pick([`${kind}_never`, ...made.slice(-4), ...coming.slice(-2)])
  }
}

const kinds: Partial<Record<RuleName, string>> = {
  'message.send': 'm',
  'action.invoke': 'act',
  'worker.spawn': 'wk',
  'run.start': 'run',
  'run.complete': 'm',
  'run.stop': 'm',
  'notice.tell': 'm',
}

const names = ['ada', 'bob', 'cy', 'dee', 'eve', 'Ada', 'lead']
const channels = ['#general', '#build']
const tools = ['do.it', 'do-it', 'stop.it']
const sessions = ['s_1', 's_2', 's_3']
const occasions = ['idle', 'ended', 'answered'] as const
const ranks = ['agent', 'holder', 'nobody', 'owner'] as const

const places = ['a', 'b'].flatMap((file) =>
  ['/r', '/w'].map((root) => ({ path: `${root}/${file}`, root, file, repository: '/r/.git' })),
)

const times = (count: number, rule: RuleName): RuleName[] => Array(count).fill(rule)
/** Registrations read the most kinds of keys, and many commands need a message or a worker to be about. */
const oftener = [
  ...times(5, 'agent.register'),
  ...times(5, 'message.send'),
  ...times(2, 'worker.spawn'),
  ...times(3, 'channel.remove'),
]

interface Around {
  random: Random
  made(kind: string): string
  by: string
}

type Inputs = { [R in RuleName]?: (around: Around) => RuleInput<R> }

const standing = ({ random }: Around) => ({ rank: random.pick(ranks) })
/** Some channels have nobody but their maker in them, and can be removed. */
const channel = ({ random, by }: Around) => random.pick([...channels, `#${by.toLowerCase()}`, `#${by.toLowerCase()}`])
const wish = (around: Around) => ({ name: around.random.pick(names), standing: standing(around) })

/** Of every rule of the shared lane: the property says which are missing. */
export const inputs: Inputs = {
  'workspace.begin': () => ({ id: 'w', keyHash: 'k' }),
  'workspace.rotate-key': () => ({ keyHash: 'k2' }),
  'workspace.set-policy': ({ random }) => ({
    ...(random.chance(0.5) ? { spawn: random.pick(['none', 'clis'] as const) } : {}),
    ...(random.chance(0.5) ? { terminal: { ada: [random.pick(names)] } } : {}),
  }),
  'agent.register': ({ random, by, made }) => ({
    name: random.chance(0.7) ? by : random.pick(names),
    ...(random.chance(0.3) ? { handle: random.pick(['boss', 'Bob!', 'tester', 'eve']) } : {}),
    ...(random.chance(0.2) ? { parent: random.pick(names) } : {}),
    ...(random.chance(0.2) ? { role: 'lead' as const } : {}),
    ...(random.chance(0.2) ? { type: 'human' as const } : {}),
    ...(random.chance(0.2) ? { heardFrom: { general: 0, broadcast: 0 } } : {}),
    ...(random.chance(0.3) ? { channels: [channel({ random, by, made })] } : {}),
    ...(random.chance(0.3) ? { cli: random.pick(['one', 'two']) } : {}),
    strict: random.chance(0.3),
    proven: random.chance(0.3),
    isHolder: random.chance(0.3),
    mayRetake: random.chance(0.6),
    tokenHash: `h${random.below(9)}`,
  }),
  'agent.revoke': ({ random }) => ({ name: random.pick(names) }),
  'agent.home': ({ random }) => ({
    agent: random.pick(names),
    machine: random.pick(['here', 'there']),
    takeOver: random.chance(0.5),
  }),
  'agent.retire': ({ random }) => ({ name: random.pick(names) }),
  'channel.create': (around) => ({ channel: channel(around) }),
  'channel.join': (around) => ({ channel: channel(around), create: around.random.chance(0.6) }),
  'channel.leave': (around) => ({ channel: channel(around) }),
  'channel.remove': (around) => ({ channel: channel(around) }),
  'message.send': ({ random, made }) => ({
    to: random.weighted<() => string | string[]>([
      [4, () => random.pick(names)],
      [2, () => random.some(names, 3)],
      [3, () => random.pick(channels)],
      [1, () => '*'],
    ])(),
    body: 'words',
    ...(random.chance(0.2) ? { create: true } : {}),
    ...(random.chance(0.25) ? { replyTo: made('m') } : {}),
    ...(random.chance(0.25) ? { thread: random.chance(0.6) ? made('m') : 'a thread' } : {}),
    ...(random.chance(0.3) ? { pairPerMinuteMax: random.between(1, 3) } : {}),
  }),
  'message.react': ({ random, made }) => ({
    message: made('m'),
    emoji: random.pick(['+1', '-1']),
    remove: random.chance(0.4),
  }),
  'action.register': ({ random }) => ({ name: random.pick(tools), description: 'd', inputSchema: { type: 'object' } }),
  'action.withdraw': ({ random }) =>
    random.chance(0.5) ? { name: random.pick(tools) } : { sessions: random.some(sessions, 2) },
  'action.invoke': ({ random }) => ({ name: random.pick(tools), inputJson: '{}', inputBytes: 2 }),
  'action.answer': ({ random, made }) => ({
    invocation: made('act'),
    ...(random.chance(0.5)
      ? { outputJson: '1', outputBytes: 1 }
      : { error: { code: 'handler_failed', message: 'no' } }),
  }),
  'action.expire': ({ made }) => ({ invocation: made('act') }),
  'worker.spawn': ({ random }) => ({
    name: random.pick(names),
    cli: 'shell',
    task: 'work',
    cwd: '/',
    isInjected: false,
    ...(random.chance(0.3) ? { role: 'lead' as const } : {}),
    ...(random.chance(0.5) ? { worktree: { repository: '/r', path: '/w', branch: 'b', base: 'c' } } : {}),
  }),
  'worker.release': wish,
  'worker.pause': wish,
  'worker.resume': wish,
  'worker.interrupt': (around) => ({ ...wish(around), turn: around.random.pick(['under way', 'none'] as const) }),
  'worker.issue-token': ({ made }) => ({ id: made('wk'), tokenHash: 't' }),
  'worker.report': ({ random, made }) => ({
    id: made('wk'),
    status: random.pick(['starting', 'exited'] as const),
    ...(random.chance(0.3) ? { reason: 'why' } : {}),
  }),
  'worker.sweep': ({ made }) => ({ ids: [made('wk')] }),
  'run.start': ({ random }) => ({
    contract: 'do it',
    harness: 'external',
    ...(random.chance(0.5) ? { agent: random.pick(names) } : {}),
  }),
  'claim.edit': ({ random }) => ({
    places: random.some(places, 2),
    hasOthers: random.chance(0.8),
    ...(random.chance(0.3) ? { sweptCheckout: '/r' } : {}),
  }),
  'claim.add': ({ random }) => ({ places: random.some(places, 2) }),
  'claim.drop': (around) => ({ places: around.random.some(places, 2), standing: standing(around) }),
  'claim.end': ({ random }) => ({ agent: random.pick(names) }),
  'claim.renew': ({ random }) => ({
    edits: random.some(places, 2).map(({ path }) => ({ path, agent: random.pick(names), at: random.below(2_000_000) })),
  }),
  'approval.open': ({ random }) => ({
    ...{ agent: random.pick(names), vendor: 'claude', tool: 'Bash', input: 'ls', isExact: true, digest: 'd' },
    choices: [{ id: 'allow', kind: 'allow' }],
  }),
  'approval.answer': (around) => ({
    ...{ id: `ap-${around.random.pick([1, 2, 3])}`, choice: 'allow', digest: 'd', standing: standing(around) },
    ...(around.random.chance(0.5) ? { surface: 'page' as const } : {}),
  }),
  'approval.close': ({ random }) => ({ ids: [`ap-${random.pick([1, 2, 3])}`], how: 'gone' }),
  'need.dismiss': ({ random }) => ({ key: `told:#${random.pick(names)}`, through: random.below(100) }),
  'notice.ask': ({ random }) => ({ agent: random.pick(names), when: random.pick(occasions), seen: undefined }),
  'notice.drop': ({ random }) => ({ agent: random.pick(names) }),
  'notice.tell': ({ random }) => ({
    ...{ asker: random.pick(names), agent: random.pick(names), when: random.pick(occasions), seen: 'idle' },
  }),
  'run.complete': (around) => ({ run: around.made('run'), summary: 'done', standing: standing(around) }),
  'run.stop': (around) => ({ run: around.made('run'), standing: standing(around) }),
}

/** Every rule, some of them more often. */
export const pool = [...(Object.keys(inputs) as RuleName[]), ...oftener]
