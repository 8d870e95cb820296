// Other programs that keep messages, side by side with the relay: each stores the same message, synced to the disk before it answers, and tells a reader of
// it. Only what is installed is measured; nothing is downloaded.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, withClient } from 'agent-relay/dist/cluster/postgres/connection.js'
import { Child, temporaryFolder } from './child.ts'
import { median, quantile } from './figures.ts'
import { PostgresServer } from './postgres.ts'
import { startRelay } from './relay.ts'
import type { LoadAnswer } from './roles/load.ts'
import { ms, type Rounds } from './sends.ts'
import type { Measure } from './table.ts'

const inFlightMany = 64
const body = 'x'.repeat(1024)

type Figures = Omit<LoadAnswer, 'p99Ms'>

interface Other {
  name: string
  appends(inFlight: number, ms: number): Promise<Figures>
  stop(): Promise<void>
}

/** Says why a program is not measured, in the words of its row. */
class Absence extends Error {}

export async function measureOthers({ rounds, ms: lengthMs }: Rounds): Promise<Measure[]> {
  const relay = await startRelay()
  const [load, reader] = [new Child('load'), new Child('member')]
  await reader.ask({ connect: { socketPath: relay.socketPath, name: 'Bob' } })
  const ours = (inFlight: number): Promise<Figures> =>
    load.ask({ path: relay.socketPath, name: 'Alice', to: 'Bob', inFlight, ms: lengthMs, bodyBytes: body.length })
  const measures: Measure[] = []
  for (const [name, start] of Object.entries({ PostgreSQL: postgres, 'NATS JetStream': nats, Redis: redis })) {
    const other = await start().catch((error: unknown) => {
      if (!(error instanceof Absence)) throw error
      return error
    })
    if (other instanceof Absence) measures.push({ measure: name, value: other.message, lagMs: 0 })
    else measures.push(...(await sideBySide(other, ours, { rounds, ms: lengthMs })))
  }
  await Promise.all([load.stop(), reader.stop(), relay.stop()])
  return measures
}

async function sideBySide(
  other: Other,
  ours: (inFlight: number) => Promise<Figures>,
  { rounds, ms: lengthMs }: Rounds,
): Promise<Measure[]> {
  const [many, single]: [[Figures, Figures][], [Figures, Figures][]] = [[], []]
  try {
    for (let i = 0; i <= rounds; i++) {
      const both = async (inFlight: number): Promise<[Figures, Figures]> => [
        await ours(inFlight),
        await other.appends(inFlight, lengthMs),
      ]
      const [each64, each1] = [await both(inFlightMany), await both(1)]
      // The first is to warm up.
      if (i > 0) many.push(each64)
      if (i > 0) single.push(each1)
    }
  } finally {
    await other.stop()
  }
  const row = (what: string, all: [Figures, Figures][], figure: keyof Figures, shown: (value: number) => string) => ({
    measure: `relay beside ${other.name}: ${what}`,
    value: shown(median(all.map(([own]) => own[figure]))),
    floor: shown(median(all.map(([, its]) => its[figure]))),
    ratio: median(all.map(([own, its]) => own[figure] / its[figure])),
    lagMs: 0,
  })
  return [
    row('1 KB, 64 in flight', many, 'perSecond', (value) => `${Math.round(value)}/s`),
    row('one send acknowledged, p50', single, 'p50Ms', ms),
  ]
}

/** Keeps so many appends under way for so long. */
async function keepUp(append: () => Promise<unknown>, inFlight: number, lengthMs: number): Promise<Figures> {
  const took: number[] = []
  const from = performance.now()
  const goOn = async () => {
    while (performance.now() - from < lengthMs) {
      const at = performance.now()
      await append()
      took.push(performance.now() - at)
    }
  }
  await Promise.all(Array.from({ length: inFlight }, goOn))
  return { perSecond: (took.length * 1_000) / (performance.now() - from), p50Ms: quantile(took, 0.5) }
}

/** The version that a program says of itself; refused with how to install it where it is not there. */
function versionOf(program: string, install: string): string {
  try {
    const said = execFileSync(program, ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
    return /\d+(?:\.\d+)+/.exec(said)?.[0] ?? ''
  } catch {
    throw new Absence(`skipped: ${program} is not installed (Debian: apt-get install ${install})`)
  }
}

async function postgres(): Promise<Other> {
  const server = await PostgresServer.start().catch((error: Error) => {
    throw new Absence(`skipped: ${error.message} (Debian: apt-get install postgresql)`)
  })
  await server.asAdmin((client) =>
    client.query('CREATE TABLE bench_appends (seq bigserial PRIMARY KEY, body text NOT NULL)'),
  )
  const text =
    "WITH kept AS (INSERT INTO bench_appends (body) VALUES ($1) RETURNING seq) SELECT pg_notify('bench_appends', seq::text) FROM kept"
  let leave = () => {}
  const left = new Promise<void>((resolve) => (leave = resolve))
  const clients: Client[] = []
  const held: Promise<void>[] = []
  const open = () =>
    new Promise<void>((resolve, reject) => {
      const holding = withClient(server.address, async (client) => {
        clients.push(client)
        resolve()
        await left
      })
      holding.catch(reject)
      held.push(holding)
    })
  // It takes one statement at a time over a connection.
  await Promise.all(Array.from({ length: inFlightMany + 1 }, open))
  const reader = clients.pop() as Client
  await reader.query('LISTEN bench_appends')
  return {
    name: `PostgreSQL ${server.version}`,
    appends(inFlight, lengthMs) {
      const free = clients.slice(0, inFlight)
      return keepUp(
        async () => {
          const client = free.pop() as Client
          await client.query({ name: 'append', text, values: [body] })
          free.push(client)
        },
        inFlight,
        lengthMs,
      )
    },
    async stop() {
      leave()
      await Promise.all(held)
      await server.stop()
    },
  }
}

async function redis(): Promise<Other> {
  const version = versionOf('redis-server', 'redis-server')
  const folder = temporaryFolder()
  const path = join(folder, 'redis.sock')
  const settings = ['--port', '0', '--unixsocket', path, '--dir', folder, '--save', '']
  const server = await Served.start('redis-server', [...settings, '--appendonly', 'yes', '--appendfsync', 'always'], {
    path,
  })
  const [reader, writer] = [await server.connect(), await server.connect()]
  const words = (...all: string[]) =>
    `*${all.length}\r\n${all.map((each) => `$${each.length}\r\n${each}\r\n`).join('')}`
  // The reader waits for the next message each time it was told of one.
  const wait = () => reader.socket.write(words('XREAD', 'BLOCK', '0', 'STREAMS', 'bench', '$'))
  reader.onLine = (line) => line.startsWith('*1') && wait()
  wait()
  // One answer is the line of its length, and the line of the entry's id.
  writer.onLine = (line) => {
    if (line.startsWith('-')) writer.fail(line)
    else if (!line.startsWith('$')) writer.answered()
  }
  const line = words('XADD', 'bench', '*', 'body', body)
  return {
    name: `Redis ${version}, appendfsync always`,
    appends: (inFlight, lengthMs) => keepUp(() => writer.ask(line), inFlight, lengthMs),
    stop: () => server.stop(),
  }
}

async function nats(): Promise<Other> {
  const version = versionOf('nats-server', 'nats-server')
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major < 2 || (major === 2 && minor < 10))
    throw new Absence(
      `skipped: nats-server ${version} cannot sync each message; 2.10 and newer can (github.com/nats-io/nats-server/releases)`,
    )
  const folder = temporaryFolder()
  const [file, port] = [join(folder, 'nats.conf'), await freePort()]
  writeFileSync(
    file,
    `host: 127.0.0.1\nport: ${port}\njetstream { store_dir: ${JSON.stringify(folder)}, sync_interval: always }\n`,
  )
  const server = await Served.start('nats-server', ['-c', file], { port, host: '127.0.0.1' })
  const [reader, writer] = [await server.connect(), await server.connect()]
  const hello = 'CONNECT {"verbose":false}\r\n'
  reader.socket.write(`${hello}SUB bench 1\r\n`)
  writer.onLine = (line) => {
    if (line.startsWith('-ERR') || line.includes('"error"')) writer.fail(line)
    else if (line === 'PING') writer.socket.write('PONG\r\n')
    else if (line.startsWith('{')) writer.answered()
  }
  const stream = JSON.stringify({ name: 'bench', subjects: ['bench'], storage: 'file' })
  const publish = (subject: string, text: string) => `PUB ${subject} answers ${text.length}\r\n${text}\r\n`
  await writer.ask(`${hello}SUB answers 1\r\n${publish('$JS.API.STREAM.CREATE.bench', stream)}`)
  const line = publish('bench', body)
  return {
    name: `NATS JetStream ${version}, sync always`,
    appends: (inFlight, lengthMs) => keepUp(() => writer.ask(line), inFlight, lengthMs),
    stop: () => server.stop(),
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  return port
}

const startTries = 200
const startPollMs = 50

type Place = { path: string } | { port: number; host: string }

/** A program that serves at one place, and what it said when it ended too early. */
class Served {
  readonly #process: ChildProcess
  readonly #place: Place
  readonly #lines: Lines[] = []

  private constructor(process: ChildProcess, place: Place) {
    this.#process = process
    this.#place = place
  }

  static async start(program: string, args: string[], place: Place): Promise<Served> {
    const child = spawn(program, args, { stdio: 'ignore' })
    const kill = () => child.kill('SIGKILL')
    process.once('exit', kill)
    child.once('exit', () => process.off('exit', kill))
    const served = new Served(child, place)
    for (let i = 0; i < startTries && child.exitCode === null; i++) {
      const isThere = await served.connect().then(
        () => true,
        () => false,
      )
      if (isThere) return served
      await sleep(startPollMs)
    }
    kill()
    throw new Error(`${program} ${args.join(' ')} does not answer (${child.exitCode ?? 'it still runs'})`)
  }

  async connect(): Promise<Lines> {
    const socket = connect(this.#place as { path: string })
    await once(socket, 'connect')
    const lines = new Lines(socket)
    this.#lines.push(lines)
    return lines
  }

  async stop(): Promise<void> {
    for (const { socket } of this.#lines) socket.destroy()
    const ended = once(this.#process, 'exit')
    this.#process.kill('SIGTERM')
    await ended
  }
}

/** A connection whose other end answers in lines, in the order in which it was asked. */
class Lines {
  readonly socket: Socket
  onLine: (line: string) => void = () => {}
  readonly #waiting: { resolve(): void; reject(error: Error): void }[] = []
  #next = 0
  #rest = ''

  constructor(socket: Socket) {
    this.socket = socket
    socket.setEncoding('utf8').on('data', (text) => {
      const lines = (this.#rest + text).split('\r\n')
      this.#rest = lines.pop() as string
      for (const line of lines) this.onLine(line)
    })
    socket.on('error', (error) => this.fail(error.message))
    socket.on('close', () => this.fail('the connection ended'))
  }

  ask(text: string): Promise<void> {
    this.socket.write(text)
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  answered(): void {
    this.#waiting[this.#next++]?.resolve()
    if (this.#next < 1_000) return
    this.#waiting.splice(0, this.#next)
    this.#next = 0
  }

  fail(why: string): void {
    for (const { reject } of this.#waiting.splice(this.#next)) reject(new Error(why))
  }
}
