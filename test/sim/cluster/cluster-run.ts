// One seed on several machines: agents ask their daemons, the world fails, and at the end every given answer must be true.

import type { CommandReply, Submission } from '../../../packages/relay/src/broker/engine.ts'
import type { RuleInput, RuleName } from '../../../packages/relay/src/core/decide.ts'
import { FakeCluster } from '../../../packages/relay/tests/cluster/fake-cluster.ts'
import { Random } from '../random.ts'
import { auditCluster } from './cluster-audit.ts'
import { Forger } from './forger.ts'
import { Machine, type Plant } from './machines.ts'
import { Timeline } from './timeline.ts'

/** One command, with all that its sender was told. */
export interface Asked {
  submission: Submission<RuleName>
  machine: string
  at: number
  /** The last entry of the cluster when it was asked and when it was answered. */
  headBefore: number
  headAfter: number
  reply?: CommandReply
}

const start = Date.UTC(2026, 0, 1)
const names = ['ada', 'bob', 'cy', 'dee', 'eve', 'fay']
const channels = ['#general', '#build', '#talk']
const sessions = ['s_1', 's_2']
/** How many machines, and how often. */
const sizes: [number, number][] = [
  [4, 2],
  [4, 3],
  [2, 4],
  [1, 5],
  [1, 6],
]

export class ClusterRun {
  readonly random: Random
  readonly timeline = new Timeline(start)
  readonly cluster: FakeCluster
  readonly machines: Machine[]
  readonly asked: Asked[] = []
  readonly log: string[] = []
  /** The cluster has lost entries that it had acknowledged. */
  hasLost = false
  #causes = 0
  /** Ids of messages that were answered as stored. */
  readonly #messages: string[] = []
  readonly #forger: Forger

  constructor(seed: number, plant: Plant = () => ({})) {
    this.random = new Random(seed)
    const { timeline, random } = this
    this.cluster = new FakeCluster({ now: () => timeline.now, after: (ms, work) => timeline.after(ms, work) })
    this.#forger = new Forger(this.cluster, random)
    const around = { timeline, random, cluster: this.cluster, plant }
    this.machines = Array.from({ length: random.weighted(sizes) }, (_, i) => new Machine(`m${i}`, around))
  }

  /** `isLossy`: somewhere on the way a standby takes over that lags. */
  async play(isLossy: boolean): Promise<void> {
    await this.#begin()
    const loss = this.random.weighted([
      [5, 0],
      [3, 0.02],
      [2, 0.1],
    ])
    for (const machine of this.machines) machine.lossShare = loss
    const steps = this.random.between(20, 60)
    const failsAt = isLossy ? this.random.below(steps) : -1
    for (let i = 0; i < steps; i++) {
      this.#step()
      if (i === failsAt) this.#failOver(this.random.between(1, 4))
      await this.timeline.pass(
        this.random.weighted([
          [5, 0],
          [5, 2],
          [3, 20],
          [1, 500],
        ]),
      )
    }
    for (const machine of this.machines) machine.lossShare = 0
    // Longer than any sleep, cut or patience.
    await this.timeline.pass(90_000)
    await this.#askAgain()
    auditCluster(this)
  }

  async #begin(): Promise<void> {
    const machine = this.machines[0] as Machine
    this.#ask(machine, 'agent-relay', 'workspace.begin', { id: 'w', keyHash: 'k' })
    await this.timeline.pass(1_000)
    for (const [i, name] of names.slice(0, 4).entries())
      this.#ask(this.machines[i % this.machines.length] as Machine, 'agent-relay', 'agent.register', registering(name))
    await this.timeline.pass(1_000)
  }

  #step(): void {
    this.random.weighted<() => void>([
      [80, () => this.#command()],
      [6, () => this.#burst()],
      [3, () => this.#cutUnderWay()],
      [3, () => this.#fails('is killed', (machine) => machine.kill())],
      [3, () => this.#fails('sleeps', (machine) => machine.sleep(this.random.pick([300, 3_000, 30_000])))],
      [3, () => this.#fails('is cut off', (machine) => machine.cut(this.random.pick([100, 2_000, 20_000])))],
      [2, () => this.#note('the database crashes', () => this.cluster.crash())],
      [5, () => this.#move()],
      [2, () => this.#takeOver()],
    ])()
    this.#forge()
  }

  /** In every step. */
  #forge(): void {
    const machines = this.machines.map(({ name }) => name)
    const what = this.#forger.forge({ agents: names, machines, messages: this.#messages, causes: this.#nextCauses() })
    this.log.push(`${this.timeline.now - start} forged as ${what}`)
  }

  /** Of the last commands and of the next. */
  #nextCauses(): string[] {
    return [-2, -1, 0, 1, 2].map((ahead) => `c${this.#causes + ahead}`)
  }

  #note(line: string, work: () => void): void {
    this.log.push(`${this.timeline.now - start} ${line}`)
    work()
  }

  #fails(what: string, work: (machine: Machine) => void): void {
    const machine = this.random.pick(this.machines)
    this.#note(`${machine.name} ${what}`, () => work(machine))
  }

  /** The agent wants to be at home on another machine, and its home is asked: that may not be its home any more. */
  #move(): void {
    const [agent, next] = [this.random.pick(names.slice(0, 4)), this.random.pick(this.machines)]
    const home = this.random.chance(0.9) ? this.#homeOf(agent) : this.random.pick(this.machines)
    this.#note(`${agent} moves from ${home.name} to ${next.name}`, () => {
      void home.release(agent, next.name).then((reply) => {
        const what = reply && ('refusal' in reply ? reply.refusal.code : reply.seq)
        this.log.push(`${this.timeline.now - start} ${agent} moved to ${next.name}: ${what}`)
      })
    })
  }

  /** Nobody asks the former home, which may be cut off, asleep, or quite well. Only the owner, which is the first machine, may. */
  #takeOver(): void {
    const owner = this.machines[0] as Machine
    const [agent, next] = [
      this.random.pick(names.slice(0, 4)),
      this.random.chance(0.7) ? owner : this.random.pick(this.machines),
    ]
    this.#ask(next, 'agent-relay', 'agent.home', { agent, machine: next.name, takeOver: true })
  }

  #homeOf(agent: string): Machine {
    const [furthest] = [...this.machines].sort((a, b) => b.store.journal.lastSeq - a.store.journal.lastSeq)
    const home = furthest?.store.view.home(agent)?.machine
    return this.machines.find(({ name }) => name === home) ?? this.random.pick(this.machines)
  }

  /** A standby takes over that lacks the last commits. */
  #failOver(lostCommits: number): void {
    this.hasLost = true
    // How the workspace began to be shared is not lost: until then nothing is judged.
    const lost = Math.min(lostCommits, this.cluster.commits - 1)
    this.#note(`a standby takes over without ${lost} commits`, () => this.cluster.failOver(lost))
  }

  /** A machine is cut off while its question or the answer is on its way. */
  #cutUnderWay(): void {
    const by = this.random.pick(names.slice(0, 4))
    this.#command(by)
    const machine = this.#homeOf(by)
    this.timeline.after(this.random.between(0, 4), () => machine.cut(20_000))
  }

  #burst(): void {
    const by = this.random.pick(names.slice(0, 4))
    for (let count = this.random.between(3, 12); count > 0; count--) this.#command(by)
  }

  /** Mostly where the agent is at home. */
  #command(by = this.random.pick(names.slice(0, 4))): void {
    const { random } = this
    const machine = random.chance(0.95) ? this.#homeOf(by) : random.pick(this.machines)
    const channel = random.pick(channels)
    const message = () => random.pick(this.#messages.length === 0 ? ['m_never'] : this.#messages.slice(-6))
    const to = () =>
      random.weighted([
        [5, random.pick(names)],
        [4, channel],
        [1, '*'],
      ] as [number, string][])
    random.weighted<() => void>([
      [
        40,
        () =>
          this.#ask(machine, by, 'message.send', { to: to(), body: `word ${this.#causes}`, ...this.#thread(message) }),
      ],
      [14, () => this.#ask(machine, by, 'inbox.take', this.#taking(channel), random.pick(sessions))],
      [6, () => this.#ask(machine, by, 'inbox.read', { messages: [message()] })],
      [8, () => this.#ask(machine, by, 'channel.join', { channel, create: random.chance(0.5) })],
      [5, () => this.#ask(machine, by, 'channel.leave', { channel })],
      [3, () => this.#ask(machine, by, 'channel.create', { channel })],
      [3, () => this.#ask(machine, by, 'channel.remove', { channel })],
      [
        5,
        () => this.#ask(machine, by, 'message.react', { message: message(), emoji: '+1', remove: random.chance(0.4) }),
      ],
      [4, () => this.#register(machine, random.pick(names))],
      [4, () => this.#repeat(machine)],
    ])()
  }

  #thread(message: () => string): { thread?: string; replyTo?: string } {
    if (this.random.chance(0.8)) return {}
    return this.random.chance(0.5) ? { thread: this.random.pick(['t1', message()]) } : { replyTo: message() }
  }

  #taking(channel: string): RuleInput<'inbox.take'> {
    const [limit, isHook] = [this.random.between(1, 5), this.random.chance(0.15)]
    return { limit, ...(isHook ? { route: 'hook' } : {}), ...(this.random.chance(0.1) ? { channel } : {}) }
  }

  #register(machine: Machine, name: string): void {
    this.#ask(machine, 'agent-relay', 'agent.register', registering(name))
  }

  /** The same command again, on whichever machine: its sender has not heard the answer, or does not believe it. */
  #repeat(machine: Machine): void {
    const again = this.asked.at(-this.random.between(1, 8))
    if (again) this.#submit(this.random.chance(0.8) ? this.#homeOf(again.submission.by) : machine, again.submission)
  }

  #ask<R extends RuleName>(machine: Machine, by: string, rule: R, input: RuleInput<R>, session?: string): void {
    const submission = { rule, input, by, cause: `c${++this.#causes}`, session, digest: () => JSON.stringify(input) }
    this.#submit(machine, submission as unknown as Submission<RuleName>)
  }

  #submit(machine: Machine, submission: Submission<RuleName>): void {
    const { cause, rule, by, input } = submission
    this.log.push(`${this.timeline.now - start} ${machine.name} ${cause} ${by} ${rule} ${JSON.stringify(input)}`)
    const head = this.cluster.entries.length
    const asked: Asked = { submission, machine: machine.name, at: this.timeline.now, headBefore: head, headAfter: head }
    this.asked.push(asked)
    void machine.submit(submission).then((reply) => {
      if (!reply) return
      asked.reply = reply
      asked.headAfter = this.cluster.entries.length
      const what = 'refusal' in reply ? reply.refusal.code : `${reply.seq}${reply.repeat ? ' again' : ''}`
      this.log.push(`${this.timeline.now - start} ${machine.name} ${cause} → ${what}`)
      if (!('refusal' in reply) && rule === 'message.send') this.#messages.push(reply.outcome.id as string)
    })
  }

  /** What was left open is asked again when all is well, and must be answered then. */
  async #askAgain(): Promise<void> {
    if (this.hasLost) return
    const open = this.asked.filter(
      ({ reply }) => !reply || ('refusal' in reply && reply.refusal.code.startsWith('cluster.')),
    )
    for (const { submission } of open) {
      this.#submit(this.#homeOf(submission.by), submission)
    }
    await this.timeline.pass(60_000)
  }

  close(): void {
    for (const machine of this.machines) machine.close()
  }
}

function registering(name: string): RuleInput<'agent.register'> {
  return { name, strict: true, proven: false, isHolder: false, mayRetake: true, tokenHash: `hash of ${name}` }
}
