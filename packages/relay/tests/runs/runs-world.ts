// A real daemon whose runs ask a scripted model on loopback. No tests.

import { type Asked, ModelServer, type Reply } from '../../../../test/bench/model-server.ts'
import { until } from '../../../../test/until.ts'
import type { RunLimits } from '../../src/runs/limits.ts'
import { HttpWorld, type Json } from '../wires/http-world.ts'

/** Fast where the real ones are patient. */
const quick: Partial<RunLimits> = { retryMs: 10, nudgesMax: 2, nudgeMs: 20 }

export class RunsWorld {
  readonly model: ModelServer
  readonly http: HttpWorld

  private constructor(model: ModelServer, http: HttpWorld) {
    this.model = model
    this.http = http
  }

  static async start(
    provider: 'anthropic' | 'openai-compatible' = 'anthropic',
    limits: Partial<RunLimits> = {},
    open: object = {},
    workspace = 'home',
  ): Promise<RunsWorld> {
    const model = await ModelServer.start()
    const more = { env: model.env(provider), runLimits: { ...quick, ...limits } }
    return new RunsWorld(model, await HttpWorld.start(open, [workspace], more))
  }

  async stop(): Promise<void> {
    await this.http.stop()
    await this.model.close()
  }

  /** As `boss`, unless somebody else is named. */
  async begin(contract: string, more: Json = {}, by = 'boss'): Promise<Json> {
    const { status, body } = await this.http.api('run.start', { contract, ...more }, this.http.as(by))
    if (status !== 200) throw new Error(JSON.stringify(body))
    return body
  }

  async status(id: string, by = 'boss'): Promise<Json> {
    const { body } = await this.http.api('run.status', { runs: [id] }, this.http.as(by))
    return body.runs[0]
  }

  /** What the daemon told of a run, head lines alone; it is there with the end itself. */
  async told(id: string, by = 'boss'): Promise<string[]> {
    const { body } = await this.http.api('inbox.peek', { from: 'agent-relay', limit: 500 }, this.http.as(by))
    const bodies = (body.messages as { body: string }[]).map((message) => message.body)
    return bodies.filter((text) => text.includes(id)).map((text) => text.split('\n')[0] as string)
  }

  /** How it ended. */
  async ended(id: string): Promise<Json> {
    await until(async () => (await this.status(id)).status !== 'running')
    return this.status(id)
  }
}

/** A script that answers the first request of each run with the first reply, and so on; the last one stays. */
export function inTurn(...replies: ((asked: Asked) => Reply)[]): (asked: Asked) => Reply {
  const counts = new Map<string, number>()
  return (asked) => {
    const n = counts.get(asked.agentId) ?? 0
    counts.set(asked.agentId, n + 1)
    return (replies[Math.min(n, replies.length - 1)] as (asked: Asked) => Reply)(asked)
  }
}

export const completes =
  (summary: string, payload?: string) =>
  ({ agentId }: Asked): Reply => ({
    calls: [
      { name: 'agent_complete', args: { agent_id: agentId, summary, ...(payload === undefined ? {} : { payload }) } },
    ],
  })

export const calls = (name: string, args: object) => (): Reply => ({ calls: [{ name, args }] })
