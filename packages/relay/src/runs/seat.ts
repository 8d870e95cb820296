// The run's own agent as its loop uses it: its mail, its tools' calls, and saying that the contract is fulfilled. A session like any other model's.

import type { Turn, WorkspaceClient } from '@agent-relay/sdk'
import { type InboxMessage, isWithinBytes, limits } from '@agent-relay/sdk/protocol'
import type { Hub } from '../broker/hub.ts'

/** How the loop comes in: as any MCP session does, with the agent's own token. */
export type Dial = (token: string) => Promise<{ client: WorkspaceClient; link: { turn(id: string): Turn } }>

export class Seat {
  readonly #client: WorkspaceClient
  readonly #openTurn: (id: string) => Turn
  readonly #run: string
  readonly #hub: Hub
  /** Handed out since the model's last answer. */
  #open: Turn[] = []
  #turns = 0

  private constructor(run: string, hub: Hub, client: WorkspaceClient, openTurn: (id: string) => Turn) {
    this.#run = run
    this.#hub = hub
    this.#client = client
    this.#openTurn = openTurn
  }

  static async take(run: string, token: string, hub: Hub, dial: Dial): Promise<Seat> {
    const { client, link } = await dial(token)
    return new Seat(run, hub, client, (id) => link.turn(id))
  }

  /** What the calls of one turn hand out is read when the model has come back with its next one. */
  turn(): Turn {
    const turn = this.#openTurn(`${this.#run}/${++this.#turns}`)
    this.#open.push(turn)
    return turn
  }

  /** The model has answered: it has seen what came before. */
  received(): void {
    for (const turn of this.#open.splice(0)) turn.answered()
  }

  async takeMail(): Promise<InboxMessage[]> {
    const { total } = await this.#client.call('inbox.count', {})
    return total === 0 ? [] : (await this.turn().call('inbox.take', {})).messages
  }

  /** Resolves with true once something waits, and with false when nobody wants to know any more. */
  mailCame(given: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const look = async () => {
        const { total } = await this.#client.call('inbox.count', {}).catch(() => ({ total: 0 }))
        if (total > 0) end(true)
      }
      const stop = this.#hub.listen((entries) => {
        if (entries.some(({ facts }) => facts.some(({ type }) => type === 'message.created'))) void look()
      })
      const end = (came: boolean) => {
        stop()
        resolve(came)
      }
      given.addEventListener('abort', () => end(false), { once: true })
      if (given.aborted) end(false)
      else void look()
    })
  }

  async complete(summary: string): Promise<void> {
    await this.turn().call('run.complete', { run: this.#run, summary: fitting(summary) })
  }

  async leave(): Promise<void> {
    await this.#client.disconnect()
  }
}

function fitting(summary: string): string {
  const text = summary.replaceAll('\0', '')
  return isWithinBytes(text, limits.summaryBytesMax) ? text : text.slice(0, limits.summaryBytesMax / 4)
}
