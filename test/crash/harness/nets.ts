// Network namespaces with a hub between them, and links that can be cut in real ways. They are held by processes that end with the test, however
// that happens, and go with them. No tests.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'

/** A program in a network namespace of its own. */
class Net {
  readonly #holder: ChildProcess

  private constructor(holder: ChildProcess) {
    this.#holder = holder
  }

  static async open(): Promise<Net> {
    // It reads until the test is gone.
    const holder = spawn('unshare', ['--net', 'sh', '-c', 'echo ready; exec cat'], {
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    const failed = once(holder, 'exit').then(() => Promise.reject(new Error('no network namespace can be made')))
    await Promise.race([once(holder.stdout as NonNullable<typeof holder.stdout>, 'data'), failed])
    failed.catch(() => {})
    return new Net(holder)
  }

  get pid(): string {
    return String(this.#holder.pid)
  }

  /** What a program is run with to be in there. */
  get through(): string[] {
    return ['nsenter', '--target', this.pid, '--net', '--']
  }

  /** `ip` or `tc`, with the words of one line. */
  run(line: string): void {
    const [program, ...args] = [...this.through, ...line.split(' ')] as [string, ...string[]]
    execFileSync(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  }

  end(): void {
    this.#holder.kill('SIGKILL')
  }
}

/** silent: nothing passes. deaf: what it asks arrives, and no answer comes back. mute: the reverse. refused: as if nobody listened there. */
export const cuts = ['silent', 'deaf', 'mute', 'refused', 'unplugged'] as const
export type Cut = (typeof cuts)[number]

/** What leaves the device is lost, and nobody is told. */
const [drop, pass] = ['root pfifo limit 0', 'root']

/** A hub to which every other leads, and which leads one address to one of them after the other. */
export class Nets {
  readonly address = '10.99.0.1'
  readonly #hub: Net
  readonly #all = new Map<string, { net: Net; n: number }>()

  private constructor(hub: Net) {
    this.#hub = hub
  }

  /** A sentence where this machine does not allow it. */
  static async open(names: readonly string[], servers: readonly string[]): Promise<Nets | string> {
    let nets: Nets | undefined
    try {
      nets = new Nets(await Net.open())
      nets.#hub.run('ip link set lo up')
      nets.#hub.run('sysctl -q -w net.ipv4.ip_forward=1')
      for (const name of [...names, ...servers]) await nets.#add(name)
      for (const name of servers) nets.#of(name).net.run(`ip address add ${nets.address}/32 dev lo`)
      return nets
    } catch (error) {
      nets?.end()
      return (error as Error).message
    }
  }

  async #add(name: string): Promise<void> {
    const n = this.#all.size + 1
    const net = await Net.open()
    this.#all.set(name, { net, n })
    this.#hub.run(`ip link add hub netns ${net.pid} type veth peer name to-${n}`)
    this.#hub.run(`ip address add 10.99.${n}.1/30 dev to-${n}`)
    this.#hub.run(`ip link set to-${n} up`)
    for (const line of [
      'ip link set lo up',
      `ip address add 10.99.${n}.2/30 dev hub`,
      'ip link set hub up',
      `ip route add default via 10.99.${n}.1`,
    ])
      net.run(line)
  }

  #of(name: string): { net: Net; n: number } {
    return this.#all.get(name) as { net: Net; n: number }
  }

  through(name: string): string[] {
    return this.#of(name).net.through
  }

  /** The address is that of this server from now on. */
  lead(server: string): void {
    this.#hub.run(`ip route replace ${this.address}/32 via 10.99.${this.#of(server).n}.2`)
  }

  cut(name: string, how: Cut): void {
    const { net, n } = this.#of(name)
    if (how === 'silent' || how === 'deaf') this.#hub.run(`tc qdisc replace dev to-${n} ${drop}`)
    if (how === 'silent' || how === 'mute') net.run(`tc qdisc replace dev hub ${drop}`)
    if (how === 'refused') net.run(`ip address add ${this.address}/32 dev lo`)
    if (how === 'unplugged') this.#hub.run(`ip link set to-${n} down`)
  }

  restore(name: string, how: Cut): void {
    const { net, n } = this.#of(name)
    if (how === 'silent' || how === 'deaf') this.#hub.run(`tc qdisc delete dev to-${n} ${pass}`)
    if (how === 'silent' || how === 'mute') net.run(`tc qdisc delete dev hub ${pass}`)
    if (how === 'refused') net.run(`ip address delete ${this.address}/32 dev lo`)
    if (how === 'unplugged') this.#hub.run(`ip link set to-${n} up`)
  }

  end(): void {
    for (const { net } of this.#all.values()) net.end()
    this.#hub.end()
  }
}
