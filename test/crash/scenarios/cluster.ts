// Machines that share a workspace on a real PostgreSQL, under load, while something breaks; and checks afterwards.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { ServerAddress } from '../../../packages/relay/src/cluster/postgres/connection.ts'
import { Store } from '../../../packages/relay/src/store/store.ts'
import type { PostgresWorld } from '../../../packages/relay/tests/cluster/postgres-server.ts'
import { guardMs } from '../../guard.ts'
import { until } from '../../until.ts'

const workspace = 'w_team'
/** Thousands of sends. */
const loadMsMax = 4 * guardMs
const program = fileURLToPath(new URL('../harness/member.mjs', import.meta.url))

/** One acknowledged command: its sender, its id, the number of its entry, and how long the answer took. */
type Stored = [by: string, cause: string, seq: number, ms: number]

export class Member {
  readonly name: string
  readonly path: string
  readonly #options: object
  #child: ChildProcess
  readonly stored: Stored[] = []
  readonly refused: string[] = []
  readonly stopped: string[] = []
  readonly troubles: string[] = []
  #ready = 0
  over: number | undefined

  constructor(name: string, path: string, options: object) {
    this.name = name
    this.path = path
    this.#options = { workspace, machine: name, path, ...options }
    this.#child = this.#spawn()
  }

  #spawn(): ChildProcess {
    const child = spawn(process.execPath, [program, JSON.stringify(this.#options)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    createInterface({ input: child.stdout }).on('line', (line) => this.#hear(line))
    return child
  }

  #hear(line: string): void {
    const [word, rest] = [line.split(' ', 1)[0], line.slice(line.indexOf(' ') + 1)]
    if (word === 'ready') this.#ready++
    if (word === 'stored') this.stored.push(JSON.parse(rest))
    if (word === 'refused') this.refused.push(rest)
    if (word === 'stopped') this.stopped.push(rest)
    if (word === 'trouble') this.troubles.push(rest)
    if (word === 'over') this.over = Number(rest)
  }

  /** Tells it to do something, and waits until it has. */
  async order(order: 'begin' | 'register'): Promise<void> {
    const before = this.#ready
    this.tell(order)
    await until(() => this.#ready > before)
  }

  tell(order: 'load' | 'stop-in-turn' | 'end' | 'exit' | 'begin' | 'register'): void {
    this.#child.stdin?.write(`${order}\n`)
  }

  get isReady(): boolean {
    return this.#ready > 0
  }

  /** By a signal: as one that sleeps. */
  get isStopped(): boolean {
    return /^State:\s+T/m.test(readFileSync(`/proc/${this.#child.pid}/status`, 'utf8'))
  }

  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(signal)
  }

  /** Killed, and started again on the same replica. */
  async restart(): Promise<void> {
    const gone = new Promise((resolve) => this.#child.once('close', resolve))
    this.signal('SIGKILL')
    await gone
    const before = this.#ready
    this.#child = this.#spawn()
    await until(() => this.#ready > before)
    this.tell('load')
  }

  async end(): Promise<void> {
    const gone =
      this.#child.exitCode ?? this.#child.signalCode ?? new Promise((resolve) => this.#child.once('close', resolve))
    this.signal('SIGCONT')
    this.signal('SIGKILL')
    await gone
  }
}

export interface Report {
  acknowledged: number
  /** Acknowledged, and not in the journal under its number. */
  lost: number
  misnumbered: number
  /** Machines whose replica is not what the journal says. */
  differing: string[]
  refused: string[]
  stopped: Record<string, string[]>
  troubles: string[]
  longestMs: number
}

export class Team {
  readonly members: Member[]
  readonly #folder: string

  private constructor(members: Member[], folder: string) {
    this.members = members
    this.#folder = folder
  }

  /** `hostOf`: where each machine finds the server. */
  static async gather(
    world: PostgresWorld,
    names: string[],
    hostOf = (_: string) => world.address.host,
  ): Promise<Team> {
    const folder = mkdtempSync(join(tmpdir(), 'relay-team-'))
    const agentsOf = (name: string) => Array.from({ length: 4 }, (_, i) => `${name}-${i}`)
    const everybody = names.flatMap(agentsOf)
    const members: Member[] = []
    for (const name of names) {
      const address: ServerAddress = { ...(await world.join(name)), host: hostOf(name) }
      const options = { address, everybody, agents: agentsOf(name), inFlight: 4 }
      members.push(new Member(name, join(folder, `${name}.db`), options))
    }
    const team = new Team(members, folder)
    await until(() => members.every(({ isReady }) => isReady))
    await members[0]?.order('begin')
    for (const member of members) await member.order('register')
    return team
  }

  load(): void {
    for (const member of this.members) member.tell('load')
  }

  /** Until every machine, or each of those named, has so many more acknowledged. */
  async more(count: number, of = this.members): Promise<void> {
    const wanted = of.map(({ stored }) => stored.length + count)
    await until(() => of.every(({ stored }, i) => stored.length >= (wanted[i] as number)), loadMsMax)
  }

  async audit(world: PostgresWorld): Promise<Report> {
    for (const member of this.members) member.tell('end')
    await until(() => this.members.every(({ over }) => over !== undefined))
    const journal = await entriesOf(world)
    // The last entries of the others come with the next look of each follower.
    const isBehind = (member: Member) => member.stopped.length === 0 && (member.over as number) < journal.length
    for (const member of this.members) {
      await until(() => {
        if (isBehind(member)) member.tell('end')
        return !isBehind(member)
      })
    }
    const numbers = new Map(journal.map(({ seq, by, cause }) => [JSON.stringify([by, cause]), seq]))
    const stored = this.members.flatMap((member) => member.stored)
    await Promise.all(this.members.map((member) => member.end()))
    return {
      acknowledged: stored.length,
      lost: stored.filter(([by, cause, seq]) => numbers.get(JSON.stringify([by, cause])) !== seq).length,
      misnumbered: misnumbered(journal),
      differing: this.members
        .filter(({ path }) => replicaOf(path) !== JSON.stringify(journal.map(lineOf)))
        .map(({ name }) => name),
      refused: [...new Set(this.members.flatMap(({ refused }) => refused))],
      stopped: Object.fromEntries(this.members.map(({ name, stopped }) => [name, [...new Set(stopped)]])),
      troubles: this.members.flatMap(({ troubles }) => troubles),
      longestMs: Math.max(...stored.map(([, , , ms]) => ms)),
    }
  }

  async end(): Promise<void> {
    await Promise.all(this.members.map((member) => member.end()))
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

interface Entry {
  seq: number
  by: string
  cause: string
  facts: { type: string; conversation?: string; n?: number }[]
}

const lineOf = ({ seq, by, cause, facts }: Entry) => [seq, by, cause, facts]

async function entriesOf(world: PostgresWorld): Promise<Entry[]> {
  const { rows } = await world.asAdmin((client) =>
    client.query('SELECT seq::int, by, cause, entry FROM relay.journal ORDER BY seq'),
  )
  return rows.map(({ entry, ...row }) => ({ ...row, facts: JSON.parse(entry).facts }))
}

/** Entries and messages are numbered from 1 without gaps, these in each conversation. */
function misnumbered(journal: Entry[]): number {
  const last = new Map<string, number>()
  const odd = journal.filter(({ seq }, i) => seq !== i + 1).length
  const facts = journal.flatMap((entry) => entry.facts).filter(({ type }) => type === 'message.created')
  return (
    odd +
    facts.filter(({ conversation = '', n = 0 }) => {
      const isNext = n === (last.get(conversation) ?? 0) + 1
      last.set(conversation, n)
      return !isNext
    }).length
  )
}

function replicaOf(path: string): string {
  const store = new Store(path)
  const all: unknown[] = []
  for (let page: Entry[] = []; page.length > 0 || all.length === 0; all.push(...page.map(lineOf))) {
    page = store.journal.entriesAfter(all.length, 5_000)
    if (page.length === 0) break
  }
  store.close()
  return JSON.stringify(all)
}
