// A data directory that an earlier build has written, and today's daemon on it: it is asked what that build was asked. No tests.

import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync } from 'node:zlib'
import { RelayClient } from '@agent-relay/sdk'
import { controlSocketPath, socketPathOf } from '@agent-relay/sdk/internal/discover'
import type { InputOf, OperationName, OutputOf } from '@agent-relay/sdk/protocol'
import { socketConnector } from '@agent-relay/sdk/wire'
import { Daemon } from '../../../src/daemon/daemon.ts'
import { systemClock } from '../../../src/machine/clock.ts'
import { ClusterFile } from '../../../src/machine/cluster-file.ts'
import { World } from '../../cli/cli-world.ts'
import type { PostgresServer } from '../../cluster/postgres-server.ts'
import { type Answers, askAll } from './questions.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))

/** The fixtures, oldest first. */
export const fixtures = readdirSync(here)
  .filter((name) => name.endsWith('.tar.br'))
  .map((name) => name.slice(0, -'.tar.br'.length))
  .toSorted((a, b) => Number(a.split('-')[1]) - Number(b.split('-')[1]) || a.length - b.length)

interface Said {
  /** When the earlier build was asked. */
  at: number
  /** `seq`: the last entry that the fixture has. */
  workspaces: Record<string, { agents: string[]; seq: number; schema: number }>
  answers: Record<string, Answers>
}

export class ReleasedWorld {
  readonly world = new World()
  readonly said: Said
  readonly troubles: Error[] = []
  #daemon: Daemon | undefined
  #asked = 0

  constructor(fixture: string) {
    const tar = brotliDecompressSync(readFileSync(join(here, `${fixture}.tar.br`)))
    execFileSync('tar', ['-xf', '-', '-C', this.world.root], { input: tar })
    this.said = JSON.parse(readFileSync(join(this.world.root, 'said.json'), 'utf8'))
  }

  get dataDir(): string {
    return this.world.dataDir
  }

  databasePath(workspace: string): string {
    return join(this.dataDir, 'projects', workspace, 'relay.db')
  }

  /** Its time is that at which the earlier build was asked, so that what ends by itself is there. */
  async start(dataDir = this.dataDir): Promise<void> {
    const aheadMs = this.said.at - Date.now()
    this.#daemon = await Daemon.start({
      dataDir,
      credentialsPath: join(dataDir, 'credentials.json'),
      clock: { ...systemClock, now: () => Date.now() + aheadMs },
      env: this.world.env,
      onStop: () => {},
      onTrouble: (error) => void this.troubles.push(error),
    })
  }

  /** The answers of the daemon that runs now, with the key that its data directory keeps. */
  async ask(workspace: string, { dataDir = this.dataDir } = {}): Promise<Answers> {
    await this.control('workspace.open', { workspace, mustExist: true }, dataDir)
    const client = new RelayClient({
      connect: socketConnector(socketPathOf(dataDir, workspace)),
      ...{ agentName: 'auditor', agentType: 'human', autoConnect: false, limits: { callAwayMs: 0 } },
      key: keyOf(workspace, dataDir),
    })
    try {
      await client.connect()
      const { agents = [] } = this.said.workspaces[workspace] ?? {}
      return await askAll((op, input) => client.call(op as 'agent.list', input), agents)
    } finally {
      await client.disconnect()
    }
  }

  async control<O extends OperationName>(op: O, input: InputOf<O>, dataDir = this.dataDir): Promise<OutputOf<O>> {
    const link = await socketConnector(controlSocketPath(dataDir))({})
    try {
      return (await link.call(op as never, input as never, `c_${++this.#asked}`)) as OutputOf<O>
    } finally {
      await link.close()
    }
  }

  run(...args: string[]): Promise<void> {
    return this.runAt(this.dataDir, ...args)
  }

  async runAt(dataDir: string, ...args: string[]): Promise<void> {
    const { code, stderr } = await this.world.run(args, { env: { RELAY_DATA_DIR: dataDir } })
    if (code !== 0) throw new Error(stderr)
  }

  /** Before the daemon starts. */
  async joinCluster(server: PostgresServer, name: string): Promise<void> {
    const cluster = await server.cluster(name.replaceAll('-', '_'))
    new ClusterFile(this.dataDir).write({ password: '', ...(await cluster.join('laptop')), machine: 'laptop' })
  }

  async stop(): Promise<void> {
    const daemon = this.#daemon
    this.#daemon = undefined
    await daemon?.stop()
  }

  async close(): Promise<void> {
    await this.stop()
    await this.world.close()
  }
}

function keyOf(workspace: string, dataDir: string): string {
  const { workspaces } = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'))
  return (Object.values(workspaces) as { name: string; key: string }[]).find(({ name }) => name === workspace)
    ?.key as string
}

/** The parts of answers that two builds must agree on: what was there at entry `through`, without what depends on when they were asked. */
export function comparable(answers: Answers, through: number) {
  const isThere = ({ seq }: { seq: number }) => seq <= through
  const boxes = (all: Answers['inboxes']) => mapValues(all, ({ messages }) => messages.filter(isThere))
  const { agents, conversations, workers, needs, receipts } = answers
  const messages = mapValues(answers.messages, (all) => all.filter(isThere))
  const ids = new Set(Object.values(messages).flatMap((all) => all.map(({ id }) => id)))
  return {
    ...answers,
    agents: agents.map(({ status, lastCallAt, ...agent }) => agent),
    conversations: conversations.map(({ last, ...each }) => (last && isThere(last) ? { ...each, last } : each)),
    messages,
    receipts: Object.fromEntries(Object.entries(receipts).filter(([id]) => ids.has(id))),
    inboxes: boxes(answers.inboxes),
    sent: boxes(answers.sent),
    found: answers.found.filter(isThere),
    // A worker that ran when its daemon was killed is ended by the next one.
    workers: workers.map(({ changedAt, ...worker }) => worker),
    needs: needs?.needs.map(({ key }) => key),
    events: answers.events.filter(isThere),
  }
}

export function mapValues<A, B>(all: Record<string, A>, map: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(all).map(([name, value]) => [name, map(value)]))
}
