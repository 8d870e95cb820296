// The surroundings of machines that share a workspace in a test, and the way to cut each off: network namespaces, or, where there are none,
// proxies. No tests.

import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PostgresServer } from '../../../packages/relay/tests/cluster/postgres-server.ts'
import { type Cut, cuts, Nets } from './nets.ts'
import { Way } from './way.ts'

/** Two servers at most are there at a time: one, and a copy that follows it. */
const places = ['this', 'that'] as const

export interface Ground {
  readonly cuts: readonly Cut[]
  /** What runs the daemon of a machine there. */
  through(machine: string): string[]
  /** How the machine finds the server. */
  address(machine: string): { host: string; port: number; ca?: string }
  cut(machine: string, how: Cut): void
  restore(machine: string, how: Cut): void
  startServer(): Promise<PostgresServer>
  copyOf(server: PostgresServer): Promise<PostgresServer>
  /** Machines find this server from now on, where they found the former one. */
  lead(server: PostgresServer): void
  end(): void
}

/** In namespaces if this machine allows it; says which it is. */
export async function groundFor(machines: readonly string[]): Promise<Ground> {
  const hasAll = ['ip -V', 'tc -V', 'nsenter -V', 'openssl version'].every((line) => {
    const [program, ...args] = line.split(' ') as [string, ...string[]]
    return spawnSync(program, args).status === 0
  })
  const nets = hasAll ? await Nets.open(machines, places) : 'ip, tc, nsenter and openssl are needed'
  if (typeof nets !== 'string') return new NetGround(nets)
  process.stdout.write(`skipped for want of network namespaces (${nets.trim()}): real cuts; proxies are cut instead\n`)
  return new WayGround(machines)
}

class NetGround implements Ground {
  readonly cuts = cuts
  readonly #nets: Nets
  readonly #folder = mkdtempSync(join(tmpdir(), 'relay-ground-'))
  readonly #placeOf = new Map<PostgresServer, (typeof places)[number]>()

  constructor(nets: Nets) {
    this.#nets = nets
    // The server is another user there.
    chmodSync(this.#folder, 0o755)
    const made = spawnSync('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
      ...['-subj', '/CN=database', '-addext', `subjectAltName=IP:${nets.address}`],
      ...['-out', this.#file('crt'), '-keyout', this.#file('key')],
    ])
    if (made.status !== 0) throw new Error(made.stderr.toString())
    chmodSync(this.#file('key'), 0o600)
  }

  #file(kind: 'crt' | 'key'): string {
    return join(this.#folder, `server.${kind}`)
  }

  through(machine: string): string[] {
    return this.#nets.through(machine)
  }

  address() {
    return { host: this.#nets.address, port: 5432, ca: readFileSync(this.#file('crt'), 'utf8') }
  }

  cut(machine: string, how: Cut): void {
    this.#nets.cut(machine, how)
  }

  restore(machine: string, how: Cut): void {
    this.#nets.restore(machine, how)
  }

  async startServer(): Promise<PostgresServer> {
    const files = { ssl_cert_file: `'${this.#file('crt')}'`, ssl_key_file: `'${this.#file('key')}'` }
    const settings = { listen_addresses: `'${this.#nets.address}'`, ssl: 'on', ...files }
    const lets = 'hostssl all all 10.99.0.0/16 scram-sha-256\n'
    const [place] = places
    const server = await PostgresServer.start(undefined, settings, { through: this.#nets.through(place), lets })
    this.#placeOf.set(server, place)
    this.lead(server)
    return server
  }

  async copyOf(server: PostgresServer): Promise<PostgresServer> {
    const place = places.find((each) => each !== this.#placeOf.get(server)) as (typeof places)[number]
    const copy = await server.standby(false, this.#nets.through(place))
    this.#placeOf.set(copy, place)
    return copy
  }

  lead(server: PostgresServer): void {
    this.#nets.lead(this.#placeOf.get(server) as string)
  }

  end(): void {
    this.#nets.end()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

class WayGround implements Ground {
  readonly cuts = ['silent', 'deaf'] as const
  readonly #names: readonly string[]
  readonly #ways = new Map<string, Way>()

  constructor(names: readonly string[]) {
    this.#names = names
  }

  #way(machine: string): Way {
    return this.#ways.get(machine) as Way
  }

  through(): string[] {
    return []
  }

  address(machine: string) {
    return { host: this.#way(machine).folder, port: 5432 }
  }

  cut(machine: string, how: Cut): void {
    this.#way(machine).loses = how === 'deaf' ? 'answers' : 'all'
  }

  restore(machine: string): void {
    this.#way(machine).loses = 'nothing'
    this.#way(machine).hangUp()
  }

  async startServer(): Promise<PostgresServer> {
    const server = await PostgresServer.start()
    for (const name of this.#names) this.#ways.set(name, new Way(server.folder))
    return server
  }

  copyOf(server: PostgresServer): Promise<PostgresServer> {
    return server.standby(false)
  }

  lead(server: PostgresServer): void {
    for (const way of this.#ways.values()) {
      way.target = server.folder
      way.hangUp()
    }
  }

  end(): void {
    for (const way of this.#ways.values()) way.end()
  }
}
