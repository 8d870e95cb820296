// The run's own agent as the built-in loop uses it: its messages, its tool calls, and the report that the contract is fulfilled. The agent's session is like
// that of any other model.

import type { Turn, WorkspaceClient } from '@agent-relay/sdk/internal/client'
import { type InboxMessage, isWithinBytes, limits } from '@agent-relay/sdk/protocol'
import type { RunLedger } from '../broker/runs/run-runtime.ts'

/**
 * Opens the session in which a run's loop acts: with the run's agent token, as any MCP session does, and with no more rights than whoever asked for
 * the run. Works once for each run; resolves to undefined after that.
 */
export type OpenRunSession = (
  run: string,
) => Promise<{ client: WorkspaceClient; link: { turn(id: string): Turn } } | undefined>

export class RunAgent {
  readonly #client: WorkspaceClient
  readonly #openTurn: (id: string) => Turn
  readonly #run: string
  readonly #ledger: RunLedger
  /** Turns (groups of calls) opened since the model's last answer. */
  #open: Turn[] = []
  #turns = 0

  private constructor(run: string, ledger: RunLedger, client: WorkspaceClient, openTurn: (id: string) => Turn) {
    this.#run = run
    this.#ledger = ledger
    this.#client = client
    this.#openTurn = openTurn
  }

  static async open(run: string, ledger: RunLedger, dial: OpenRunSession): Promise<RunAgent | undefined> {
    const dialled = await dial(run)
    return dialled && new RunAgent(run, ledger, dialled.client, (id) => dialled.link.turn(id))
  }

  /** Opens a turn, a group of calls. Messages that these calls hand out count as read at the model's next answer. */
  openTurn(): Turn {
    const turn = this.#openTurn(`${this.#run}/${++this.#turns}`)
    this.#open.push(turn)
    return turn
  }

  /** Closes all open turns: the model has answered, so it has seen everything before. */
  markRead(): void {
    for (const turn of this.#open.splice(0)) turn.answered()
  }

  async takeMail(): Promise<InboxMessage[]> {
    const { total } = await this.#client.call('inbox.count', {})
    return total === 0 ? [] : (await this.openTurn().call('inbox.take', {})).messages
  }

  /** Resolves to true once messages wait in the inbox, to false when `given` is aborted. */
  waitForMail(given: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const look = async () => {
        const { total } = await this.#client.call('inbox.count', {}).catch(() => ({ total: 0 }))
        if (total > 0) end(true)
      }
      const stop = this.#ledger.listen({ onMessage: () => void look() })
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
    await this.openTurn().call('run.complete', { run: this.#run, summary: fitting(summary) })
  }

  async leave(): Promise<void> {
    await this.#client.disconnect()
  }
}

function fitting(summary: string): string {
  const text = summary.replaceAll('\0', '')
  return isWithinBytes(text, limits.summaryBytesMax) ? text : text.slice(0, limits.summaryBytesMax / 4)
}
