// Kills the daemon with kill -9 at random moments while eight agents send and eight receive over the SDK, and then checks the histories of messages.

import { ConnectionError, type RelayClient } from '@agent-relay/sdk'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { connectClient } from '../harness/clients.ts'
import { MessageHistory, messageBody, readStored } from '../harness/history.ts'
import { type DaemonProcess, inTrial, sleep, type Trial, type TrialOptions } from '../harness/processes.ts'
import type { Random } from '../harness/random.ts'

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
/** The share of daemons that are killed before they are ready: an interrupted start must do no harm. */
const earlyShare = 0.15
const earlyMsMax = 250
/** If no message has been shown for this long after the last send, the missing messages count as lost. */
const drainMsMax = waitLimitMs('prove')
/** Client limits for a quick reconnect: a daemon that lives only for a moment is reached only by clients that reconnect at once. */
const quickReconnect = { backoffMsMax: 100 }
/** Client limits without repeated calls: such a client leaves sends with an unknown outcome. */
const withoutRepeats = { ...quickReconnect, callTriesMax: 1 }

export interface KillsSize {
  cycles: number
  /** No daemon is killed after this time. */
  msMax?: number
  drainMs?: number
}

export function killUnderLoad(random: Random, size: KillsSize, setting: TrialOptions): Promise<KillsReport> {
  const { cycles, msMax = Number.POSITIVE_INFINITY, drainMs = drainMsMax } = size
  return inTrial(setting, async (scene) => {
    const from = performance.now()
    const history = new MessageHistory()
    let daemon = await scene.startDaemon()
    const load = await Load.start(scene, history, random)
    let kills = 0
    while (kills < cycles && performance.now() - from < msMax) {
      await sleep(random.below(loadMsMax))
      await daemon.end('SIGKILL')
      scene.reportProgress(`kill ${++kills} of ${cycles}, ${history.acked} messages acknowledged`)
      if (random.next() < earlyShare) {
        const early = scene.spawnDaemon()
        await sleep(random.below(earlyMsMax))
        await early.end('SIGKILL')
      }
      load.changeWays()
      daemon = await scene.startDaemon()
    }
    await load.finish(drainMs)
    await stopDaemon(daemon)
    const { messages, integrity } = readStored(scene)
    return {
      cycles: kills,
      acked: history.acked,
      unknown: history.sends.length - history.acked,
      shown: history.shown.length,
      integrity,
      faults: history.faults(messages),
      clientErrors: load.errors,
    }
  })
}

async function stopDaemon(daemon: DaemonProcess): Promise<void> {
  const { code, signal } = await daemon.end('SIGTERM')
  if (code !== 0) throw new Error(`the last daemon ended with ${signal ?? code}: ${daemon.errors}`)
}

class Load {
  readonly errors: string[] = []
  readonly #history: MessageHistory
  readonly #random: Random
  readonly #scene: Trial
  readonly #senders: { client: RelayClient; done: Promise<void> }[] = []
  readonly #receivers: Receiver[] = []
  #isOver = false

  private constructor(scene: Trial, history: MessageHistory, random: Random) {
    this.#scene = scene
    this.#history = history
    this.#random = random
  }

  static async start(scene: Trial, history: MessageHistory, random: Random): Promise<Load> {
    const load = new Load(scene, history, random)
    const { errors } = load
    for (let i = 0; i < pairs; i++) {
      const client = await connectClient(scene, `to-${i}`, { limits: quickReconnect, faults: errors })
      load.#receivers.push(new Receiver(client, history))
    }
    for (let i = 0; i < pairs; i++) {
      const client = await connectClient(scene, `from-${i}`, {
        limits: i % 4 === 0 ? withoutRepeats : quickReconnect,
        faults: errors,
      })
      load.#senders.push({ client, done: load.#send(client) })
    }
    return load
  }

  /** Lets about half of the receivers switch between listening for messages and asking for them. */
  changeWays(): void {
    for (const receiver of this.#receivers) if (this.#random.next() < 0.5) receiver.changeWay()
  }

  async finish(drainMs: number): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#senders.map(({ done }) => done))
    await this.#drain(drainMs)
    // A send with an unknown outcome may have been stored too. This wait lets such a message, or a second delivery of a message, still arrive.
    await sleep(500)
    for (const receiver of this.#receivers) await receiver.stop()
    for (const { client } of this.#senders) await client.disconnect()
  }

  /** Waits until every acknowledged message is shown to its receiver, or until no more messages come. */
  async #drain(drainMs: number): Promise<void> {
    const { acked, sends, shown } = this.#history
    const isAllShown = () => {
      const seen = new Set(shown.map(({ by, from, n }) => `${from} ${by} ${n}`))
      return sends.every(({ from, to, n, outcome }) => outcome !== 'acked' || seen.has(`${from} ${to} ${n}`))
    }
    let [count, since] = [shown.length, performance.now()]
    while (!(shown.length >= acked && isAllShown()) && performance.now() - since < drainMs) {
      if (shown.length > count) [count, since] = [shown.length, performance.now()]
      this.#scene.reportProgress(`${count} of ${acked} messages shown`)
      await sleep(50)
    }
  }

  /** Keeps several sends in flight, so that a kill interrupts some of them halfway. */
  async #send(client: RelayClient): Promise<void> {
    const name = client.agentName as string
    const lane = async () => {
      while (!this.#isOver && !this.#scene.isOver) {
        const send = this.#history.recordSend(name, `to-${this.#random.below(pairs)}`)
        const padding = 'x'.repeat(this.#random.next() < 0.05 ? 20_000 : this.#random.below(600))
        try {
          await client.send(send.to, messageBody(send.from, send.to, send.n, padding))
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

/** A receiver that either listens for messages or asks for them, never both at once: these are two streams, without an order between them. */
class Receiver {
  readonly #client: RelayClient
  readonly #history: MessageHistory
  readonly #name: string
  #wantsToAsk = false
  #asking: Promise<void> | undefined

  constructor(client: RelayClient, history: MessageHistory) {
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

  readonly #see = ({ content }: { content: string }): void => this.#history.recordShown(this.#name, content)

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
