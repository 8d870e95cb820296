// kill -9 of the daemon at random moments while eight agents send and eight receive over the SDK; the checker then judges the histories.

import { type ClientLimits, ConnectionError, RelayClient } from '@agent-relay/sdk'
import { bodyOf, History, readStored } from '../harness/history.ts'
import { type DaemonProcess, inScene, type Scene, sleep, until } from '../harness/processes.ts'
import { type Random, seeded } from '../harness/random.ts'

export interface KillsReport {
  cycles: number
  acked: number
  unknown: number
  shown: number
  integrity: string
  faults: string[]
  clientErrors: string[]
}

const pairs = 8
const loadMsMax = 400
/** Some die before they are ready: half a start must harm nothing either. */
const earlyShare = 0.15
const earlyMsMax = 250
const drainMsMax = 60_000
/** A daemon that lives for a moment only is met by those who come back at once. */
const eager = { backoffMsMax: 100 }
/** A client that does not send a lost call again leaves outcomes that nobody knows. */
const impatient = { ...eager, callTriesMax: 1 }

export function killUnderLoad(cycles: number): Promise<KillsReport> {
  return inScene(async (scene) => {
    const random = seeded(`${cycles} kills under load`)
    const history = new History()
    let daemon = await scene.startDaemon()
    const load = await Load.start(scene, history, random)
    for (let cycle = 0; cycle < cycles; cycle++) {
      await sleep(random.below(loadMsMax))
      await daemon.end('SIGKILL')
      if (random.next() < earlyShare) {
        const early = scene.spawnDaemon()
        await sleep(random.below(earlyMsMax))
        await early.end('SIGKILL')
      }
      load.changeWays()
      daemon = await scene.startDaemon()
    }
    await load.finish()
    await stopped(daemon)
    const { messages, integrity } = readStored(scene.databasePath)
    return {
      cycles,
      acked: history.acked,
      unknown: history.sends.length - history.acked,
      shown: history.shown.length,
      integrity,
      faults: history.faults(messages),
      clientErrors: load.errors,
    }
  })
}

async function stopped(daemon: DaemonProcess): Promise<void> {
  const { code, signal } = await daemon.end('SIGTERM')
  if (code !== 0) throw new Error(`the last daemon ended with ${signal ?? code}: ${daemon.errors}`)
}

class Load {
  readonly errors: string[] = []
  readonly #history: History
  readonly #random: Random
  readonly #senders: { client: RelayClient; done: Promise<void> }[] = []
  readonly #receivers: Receiver[] = []
  #isOver = false

  private constructor(history: History, random: Random) {
    this.#history = history
    this.#random = random
  }

  static async start(scene: Scene, history: History, random: Random): Promise<Load> {
    const load = new Load(history, random)
    const connected = async (agentName: string, limits: Partial<ClientLimits> = eager): Promise<RelayClient> => {
      const client = new RelayClient({ agentName, socketPath: scene.socketPath, autoConnect: false, limits })
      scene.onDispose(() => client.disconnect())
      client.on('error', (error) => load.errors.push(`${agentName}: ${error.message}`))
      await client.connect()
      return client
    }
    for (let i = 0; i < pairs; i++) load.#receivers.push(new Receiver(await connected(`to-${i}`), history))
    for (let i = 0; i < pairs; i++) {
      const client = await connected(`from-${i}`, i % 4 === 0 ? impatient : eager)
      load.#senders.push({ client, done: load.#send(client) })
    }
    return load
  }

  /** By events and by asking, in turn. */
  changeWays(): void {
    for (const receiver of this.#receivers) if (this.#random.next() < 0.5) receiver.changeWay()
  }

  async finish(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#senders.map(({ done }) => done))
    const shown = () => new Set(this.#history.shown.map(({ by, from, n }) => `${from} ${by} ${n}`))
    const isAllShown = () => {
      const seen = shown()
      return this.#history.sends.every(
        ({ from, to, n, outcome }) => outcome !== 'acked' || seen.has(`${from} ${to} ${n}`),
      )
    }
    await until(() => this.#history.shown.length >= this.#history.acked && isAllShown(), drainMsMax)
    // What has an unknown outcome may be stored too; and a repeat, if there is one, would come now.
    await sleep(500)
    for (const receiver of this.#receivers) await receiver.stop()
    for (const { client } of this.#senders) await client.disconnect()
  }

  /** Several in flight, so that a kill finds some of them half done. */
  async #send(client: RelayClient): Promise<void> {
    const name = client.agentName as string
    const lane = async () => {
      while (!this.#isOver) {
        const send = this.#history.invoke(name, `to-${this.#random.below(pairs)}`)
        const padding = 'x'.repeat(this.#random.next() < 0.05 ? 20_000 : this.#random.below(600))
        try {
          await client.send(send.to, bodyOf(send.from, send.to, send.n, padding))
          send.outcome = 'acked'
        } catch (error) {
          if (!(error instanceof ConnectionError)) this.errors.push(`${name}: send: ${(error as Error).message}`)
        }
        await sleep(this.#random.below(6))
      }
    }
    await Promise.all([lane(), lane(), lane()])
  }
}

/** Listens or asks, never both at once: whoever does both gets two streams, and cannot expect one order. */
class Receiver {
  readonly #client: RelayClient
  readonly #history: History
  readonly #name: string
  #wantsToAsk = false
  #asking: Promise<void> | undefined

  constructor(client: RelayClient, history: History) {
    this.#client = client
    this.#history = history
    this.#name = client.agentName as string
    client.on('message', this.#see)
  }

  changeWay(): void {
    this.#wantsToAsk = !this.#wantsToAsk
    if (this.#wantsToAsk) this.#asking ??= this.#ask()
  }

  async stop(): Promise<void> {
    this.#wantsToAsk = false
    await this.#asking
    await this.#client.disconnect()
  }

  readonly #see = ({ content }: { content: string }): void => this.#history.see(this.#name, content)

  async #ask(): Promise<void> {
    this.#client.off('message', this.#see)
    while (this.#wantsToAsk) {
      const page = await this.#client.getInbox().catch(() => [])
      for (const message of page) this.#see(message)
      await sleep(5)
    }
    this.#asking = undefined
    this.#client.on('message', this.#see)
  }
}
