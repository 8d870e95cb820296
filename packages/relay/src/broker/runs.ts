// Runs on their way: starting, asking, ending, and the end of a running one's output, which is kept in memory alone.

import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import {
  daemonName,
  type HarnessName,
  type Ids,
  limits,
  type OutputOf,
  type ParsedInputOf,
  type Run,
} from '@agent-relay/sdk/protocol'
import { mayEnd } from '../core/runs.ts'
import type { RunRow } from '../core/view.ts'
import { RefusalError } from '../refusal-error.ts'
import type { Store } from '../store/store.ts'
import type { Asking } from './call.ts'
import { hashOf, newSecret } from './credentials.ts'
import type { Engine } from './engine.ts'
import type { Hub } from './hub.ts'
import { blockedOf, lastScreenOfRun, workerAsRun } from './worker-as-run.ts'
import type { Workers } from './workers.ts'

interface RunsOptions {
  store: Store
  engine: Engine
  hub: Hub
  workers: Workers
  ids: Ids
}

export const restartReason = 'The daemon ended while this ran.'

const listDefault = 100
const compress = promisify(gzip)
/** Level 3 takes a third of the time of the usual 6, and what comes of a report is a twentieth larger. */
const compression = { level: 3, chunkSize: 256 * 1024 }

export class Runs {
  readonly #store: Store
  readonly #engine: Engine
  readonly #workers: Workers
  readonly #ids: Ids
  /** The end of what each running run has put out. */
  readonly #output = new Map<string, string>()
  /** Of agents whose loop has not come for it yet: only its hash is written. */
  readonly #tokens = new Map<string, string>()

  constructor({ store, engine, hub, workers, ids }: RunsOptions) {
    this.#store = store
    this.#workers = workers
    this.#engine = engine
    this.#ids = ids
    hub.listen((entries) => {
      for (const { facts } of entries)
        for (const fact of facts)
          if (fact.type === 'run.completed' || fact.type === 'run.stopped') this.#forget(fact.id)
    })
  }

  /** What the daemon of before left behind: whatever carried these out went with it. An external run goes on. */
  async begin(): Promise<void> {
    const left = this.#store.view.runs.running().filter(({ harness }) => harness !== 'external')
    await Promise.all(left.map(({ id }) => this.end(id, restartReason)))
  }

  async start(asking: Asking, input: ParsedInputOf<'run.start'>, url?: string): Promise<Run> {
    const { contract, model, cwd, agent } = input
    const harness: HarnessName = input.harness ?? (agent === undefined ? 'loop' : 'external')
    if (agent !== undefined && harness !== 'external') {
      const why = `agent: only an external run is carried out by an agent that is named, and this one by ${harness}`
      throw new RefusalError('input.invalid', { operation: 'run.start', why })
    }
    const mint = this.#ids('run')
    const token = newSecret('at')
    // Kept before the commit: whoever follows the facts may come for it before this goes on.
    if (harness === 'loop') this.#tokens.set(mint, token)
    const reply = await this.#engine.submit({
      rule: 'run.start',
      input: { contract, harness, model, cwd, agent, tokenHash: harness === 'loop' ? hashOf(token) : undefined },
      by: actorOf(asking),
      cause: asking.id,
      mint,
    })
    const started = 'refusal' in reply ? undefined : (reply.outcome.run as string)
    if (started !== mint) this.#tokens.delete(mint)
    if ('refusal' in reply) throw new RefusalError(reply.refusal)
    // As it began, also where it is asked again later: a repeat gets the answer that was lost.
    const { id, agent: name, parent, startedAt } = this.row(started as string) as RunRow
    if (harness === 'external' && name !== parent) await this.#handOver(id, name, parent, contract)
    const begun: RunRow = { id, agent: name, parent, harness, model, status: 'running', startedAt }
    return this.#describe(begun, asking, url)
  }

  /** A run by its id or its agent's name, a worker by its name. */
  async status(asking: Asking, ids: string[], url?: string): Promise<OutputOf<'run.status'>> {
    actorOf(asking)
    const { runs } = this.#store.view
    const known = runs.byIds(ids)
    const statusOf = async (id: string) => {
      const row = known.get(id) ?? runs.byAgent(id)
      if (row) return { ...this.#lastShown(row, asking), ...this.#describe(row, asking, url) }
      const worker = await workerAsRun(this.#store.view, this.#workers, asking, id)
      return worker ?? { id, error: new RefusalError('run.unknown', { run: id }).message }
    }
    return { runs: await Promise.all(ids.map(statusOf)) }
  }

  list(asking: Asking, { status, limit = listDefault }: ParsedInputOf<'run.list'>, url?: string): OutputOf<'run.list'> {
    const by = actorOf(asking)
    const rows = this.#store.view.runs.list(this.#seesAll(asking) ? undefined : by, status, limit)
    return { runs: rows.map((row) => this.#describe(row, asking, url)) }
  }

  async complete(asking: Asking, input: ParsedInputOf<'run.complete'>, url?: string): Promise<Run> {
    const { run, summary } = input
    const by = actorOf(asking)
    const { isHolder } = asking.session
    const row = this.row(run)
    // Pressed only where it will be stored; the rule itself decides when the commit comes.
    const isWanted = row?.status === 'running' && mayEnd(row, by, isHolder)
    const packed = isWanted && input.payload !== undefined ? await pack(input.payload) : {}
    const submitted = { run, summary, isHolder, ...packed }
    const reply = await this.#engine.submit({ rule: 'run.complete', input: submitted, by, cause: asking.id })
    if ('refusal' in reply) throw new RefusalError(reply.refusal)
    return this.#describe(this.row(run) as RunRow, asking, url)
  }

  async stop(asking: Asking, { run, reason }: ParsedInputOf<'run.stop'>, url?: string): Promise<Run> {
    const input = { run, reason, isHolder: asking.session.isHolder }
    const reply = await this.#engine.submit({ rule: 'run.stop', input, by: actorOf(asking), cause: asking.id })
    if ('refusal' in reply) throw new RefusalError(reply.refusal)
    return this.#describe(this.row(run) as RunRow, asking, url)
  }

  payload(asking: Asking, run: string): OutputOf<'run.payload'> {
    actorOf(asking)
    const row = this.row(run)
    if (!row) throw new RefusalError('run.unknown', { run })
    const gzip = this.#store.view.runs.payload(run)
    if (gzip === undefined) throw new RefusalError('run.no-payload', { run })
    return { size: row.payloadBytes as number, gzip: Buffer.from(gzip).toString('base64') }
  }

  asked(asking: Asking, run: string): OutputOf<'run.contract'> {
    const by = actorOf(asking)
    const row = this.row(run)
    if (!row || !(this.#seesAll(asking) || row.agent === by || row.parent === by))
      throw new RefusalError('run.unknown', { run })
    return { contract: this.contract(run) }
  }

  row(id: string): RunRow | undefined {
    return this.#store.view.runs.byId(id)
  }

  contract(id: string): string {
    return this.#store.view.runs.contract(id)
  }

  isRunning(id: string): boolean {
    return this.row(id)?.status === 'running'
  }

  /** By which the loop acts as the run's agent; handed out once. */
  takeToken(id: string): string | undefined {
    const token = this.#tokens.get(id)
    this.#tokens.delete(id)
    return token
  }

  /** What a running run puts out; only its end is kept. */
  note(id: string, text: string): void {
    if (!this.isRunning(id)) return
    const all = (this.#output.get(id) ?? '') + text
    this.#output.set(id, all.length > 2 * limits.previewCharsMax ? all.slice(-limits.previewCharsMax) : all)
  }

  /** A screen takes the place of what was shown before. */
  show(id: string, screen: string): void {
    if (this.isRunning(id)) this.#output.set(id, screen.trimEnd().slice(-limits.previewCharsMax))
  }

  /** Does the agent carry out a run? Then it must be able to complete it. */
  isCarriedOutBy(agent: string): boolean {
    return this.#store.view.runs.list(agent, 'running', 100).some((run) => run.agent === agent)
  }

  /** Its own words said that it is done, where it could not call a tool. */
  async fulfil(run: string, summary: string): Promise<void> {
    const input = { run, summary, isHolder: true }
    await this.#engine.submit({ rule: 'run.complete', input, by: daemonName, cause: this.#ids('d') })
  }

  /** It ended by itself: what carried it out says why. */
  async end(run: string, reason: string): Promise<void> {
    const input = { run, reason, isHolder: true }
    await this.#engine.submit({ rule: 'run.stop', input, by: daemonName, cause: this.#ids('d') })
  }

  /** Who is named for a run hears of it as of any message, from the one who asks; once, also where the start is repeated. */
  async #handOver(id: string, agent: string, parent: string, contract: string): Promise<void> {
    const how = `Contract ${id} is yours. When it is done: agent_complete(agent_id="${id}", summary, payload).`
    const input = { to: agent, body: `${how}\n\n${contract}`, kind: 'directive' as const }
    const reply = await this.#engine.submit({ rule: 'message.send', input, by: parent, cause: `${id}/contract` })
    if ('refusal' in reply) await this.end(id, `${agent} could not be told: ${reply.refusal.message}`)
  }

  #forget(id: string): void {
    this.#output.delete(id)
    this.#tokens.delete(id)
  }

  #describe(row: RunRow, asking: Asking, url: string | undefined): Run {
    const { id, agent, parent, harness, model, status, startedAt, endedAt, summary, reason, payloadBytes } = row
    const run: Run = { id, agent, parent, harness, status, startedAt: new Date(startedAt).toISOString() }
    if (model !== undefined) run.model = model
    const ended = endedAt === undefined ? undefined : new Date(endedAt).toISOString()
    if (status === 'completed') Object.assign(run, { completedAt: ended, summary })
    if (status === 'stopped')
      Object.assign(run, { stoppedAt: ended, ...(reason === undefined ? {} : { stopReason: reason }) })
    if (status === 'running' && isByWorker(row)) Object.assign(run, blockedOf(this.#workers, agent))
    if (payloadBytes !== undefined) run.payloadSize = payloadBytes
    if (payloadBytes !== undefined && url !== undefined) run.payloadUrl = `${url}/api/agents/${id}/payload`
    const preview = status === 'running' && this.#seesOutput(row, asking) ? this.#output.get(id) : undefined
    if (preview !== undefined) run.preview = preview.slice(-limits.previewCharsMax)
    return run
  }

  /** Of one that was stopped: why may stand on its worker's last screen. */
  #lastShown(row: RunRow, asking: Asking): Pick<Run, 'preview'> {
    if (row.status !== 'stopped' || !isByWorker(row) || !this.#seesOutput(row, asking)) return {}
    const preview = lastScreenOfRun(this.#store.view, this.#workers, row.agent)
    return preview === undefined ? {} : { preview }
  }

  #seesAll({ by, session }: Asking): boolean {
    return session.isHolder || this.#store.view.agent(by)?.type === 'human'
  }

  /** As with terminals: who asked for it, people, and those to whom the policy shows it. */
  #seesOutput({ agent, parent }: RunRow, asking: Asking): boolean {
    const { by } = asking
    if (by === parent || by === agent || this.#seesAll(asking)) return true
    const { terminal } = this.#store.view.policy()
    const shown = Object.hasOwn(terminal, by) ? (terminal[by] as string[]) : []
    return shown.includes('*') || shown.includes(agent)
  }
}

/** The key's holder may act without a name; then it is the workspace itself that acts. */
function actorOf({ by, session }: Asking): string {
  if (by === '' && !session.isHolder) throw new RefusalError('agent.required')
  return by === '' ? daemonName : by
}

function isByWorker({ harness }: RunRow): boolean {
  return harness !== 'loop' && harness !== 'external'
}

/** Off the event loop, and before the command: a commit never waits for it. */
async function pack(payload: string): Promise<{ payload: Uint8Array; payloadBytes: number }> {
  const bytes = Buffer.from(payload)
  return { payload: await compress(bytes, compression), payloadBytes: bytes.length }
}
