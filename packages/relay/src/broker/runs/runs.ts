// The operations on runs that agents use: start a run, ask for its status, complete it, stop it. The runner reports on runs in run-reports.ts.

import { clisWith } from '@agent-relay/sdk/internal/clis'
import type { HarnessName, OutputOf, ParsedInputOf, Run } from '@agent-relay/sdk/protocol'
import { firstLine } from '../../core/first-line.ts'
import { RefusalError, refusalTextWithoutFix } from '../../core/refusal-error.ts'
import { findFormerRun } from '../../core/repeat-work.ts'
import { mayEndRun } from '../../core/runs.ts'
import { hasCredential, isRunIdEnough, type Reader, sees, seesAllRuns, seesRunById } from '../../core/sight.ts'
import type { Steps } from '../../core/steps.ts'
import type { RunRow } from '../../core/view.ts'
import { actorOf, type CallContext, causeOf, readerOf, type WorkspaceParts } from '../call.ts'
import { submitCall } from '../commands.ts'
import { hashSecret, newSecret } from '../sessions/credentials.ts'
import { tokenStanding } from '../sessions/standing.ts'
import { WholeTextBudget } from '../whole-text-budget.ts'
import { spawnRight } from '../workers/spawning.ts'
import { blockedNote, lastScreenOfRun, workerAsRun } from '../workers/worker-as-run.ts'
import type { Workers } from '../workers/workers.ts'
import { payloadAddress } from './payload-links.ts'
import { Payloads, packPayload } from './payloads.ts'
import { RunReports } from './run-reports.ts'
import type { LoopSettings } from './run-runtime.ts'

const listDefault = 100
const runClis = clisWith('run').map(({ name }) => name)

/** The requested start of a run, with all defaults. `again`: the earlier run whose contract is repeated. `parent`: the agent that asked for that run. */
type WantedRun = Omit<ParsedInputOf<'run.start'>, 'contract'> & { contract: string; parent?: string }

export class Runs {
  readonly #parts: WorkspaceParts
  readonly #workers: Workers
  /** The runner reads runs and reports on them here. */
  readonly reports: RunReports
  readonly payloads: Payloads
  readonly #loop: LoopSettings | undefined

  constructor(parts: WorkspaceParts, workers: Workers, loop?: LoopSettings) {
    this.#parts = parts
    this.#workers = workers
    this.reports = new RunReports(parts, workers)
    this.payloads = new Payloads(parts)
    this.#loop = loop
  }

  async start(asking: CallContext, asked: ParsedInputOf<'run.start'>, url?: string): Promise<OutputOf<'run.start'>> {
    const by = actorOf(asking)
    const input = this.#withDirectory(asking, this.#wanted(asking, asked))
    const { contract, model, agent, worktree, again, parent: hirer = by } = input
    const harness = input.harness ?? (agent === undefined ? this.#harnessFor(asking, hirer, input) : 'external')
    if (agent !== undefined && harness !== 'external') {
      const why = `agent: only an external run is carried out by an agent that is named, and this one by ${harness}`
      throw new RefusalError('input.invalid', { operation: 'run.start', why })
    }
    if (worktree && (harness === 'external' || harness === 'loop')) {
      const why = `worktree: only a run by a CLI has one, and this one is carried out by ${harness}`
      throw new RefusalError('input.invalid', { operation: 'run.start', why })
    }
    const cwd = harness === 'external' ? input.cwd : this.#assertMayStart(asking, hirer, harness, input.cwd)
    const mint = this.#parts.ids('run')
    const token = newSecret('at')
    const loopToken = harness === 'loop' ? token : undefined
    // A contract keeps its author's rights if another agent repeats it. The author's session is not known any more, so the built-in loop gets the rights of a
    // token.
    const asker = harness === 'loop' && hirer !== by ? tokenStanding : asking.session.standing
    this.reports.prepare(mint, { asker, token: loopToken })
    const tokenHash = harness === 'loop' ? hashSecret(token) : undefined
    const reply = await this.#parts.engine.submit({
      rule: 'run.start',
      input: { contract, harness, model, cwd, agent, worktree, again, parent: hirer, tokenHash },
      by,
      ...causeOf(asking),
      newId: mint,
    })
    const started = 'refusal' in reply ? undefined : (reply.outcome.run as string)
    if (started !== mint) this.reports.forget(mint)
    if ('refusal' in reply) throw new RefusalError(reply.refusal)
    // Answers with the run as it was at its start, so that a repeated call gets the same answer as the first.
    const { id, agent: name, parent, harness: chosen, startedAt } = this.#row(started as string) as RunRow
    if (chosen === 'external' && name !== by) await this.#sendContract(id, name, by, contract)
    const begun: RunRow = { id, agent: name, parent, harness: chosen, model, status: 'running', startedAt, again }
    const note = this.#noteOn(begun, asking, input)
    return { ...this.#describe(begun, asking, url), ...(note === undefined ? {} : { note }) }
  }

  /** Returns the contract and the harness (the way to carry it out), given in the call or taken from a former run. */
  #wanted(asking: CallContext, { again, contract, ...asked }: ParsedInputOf<'run.start'>): WantedRun {
    // Without `again`, the schema makes sure that a contract is given.
    if (again === undefined) return { ...asked, contract: contract as string }
    const former = findFormerRun(this.#parts.store.view, readerOf(asking), {
      run: again,
      machine: this.#parts.sessions.machine,
    })
    if ('refusal' in former) throw new RefusalError(former.refusal)
    const { id, harness, model, cwd, worktree, agent, parent } = former.run
    const told = harness === 'external' ? { agent } : {}
    return { contract: former.contract, harness, model, cwd, worktree, again: id, parent, ...told }
  }

  /** Resolves the directory of a run that the built-in loop may carry out, before that is decided: the settings in the directory may name a model. */
  #withDirectory(asking: CallContext, wanted: WantedRun): WantedRun {
    const { harness = 'loop', agent, cwd, parent = actorOf(asking) } = wanted
    if (harness !== 'loop' || agent !== undefined || cwd === undefined) return wanted
    return { ...wanted, cwd: this.#workers.checkWorkingDirectory(asking.session.standing, parent, cwd) }
  }

  /**
   * Chooses the default way to carry out a run: the built-in loop if the call or the settings name a model, otherwise the first CLI on PATH that the asker may
   * start.
   */
  #harnessFor(asking: CallContext, by: string, { cwd, model }: WantedRun): HarnessName {
    if (model !== undefined || !this.#loop || this.#loop.isModelConfigured(cwd)) return 'loop'
    const found = this.#cliFor(asking, by, cwd)
    return found instanceof RefusalError ? 'loop' : (found ?? 'loop')
  }

  /** Returns the first CLI on PATH that can carry out runs, or the refusal if the asker may start no program. */
  #cliFor({ session }: CallContext, by: string, cwd: string | undefined): HarnessName | RefusalError | undefined {
    try {
      return this.#workers.assertMayStart(session.standing, by, { cwd }).runtime.installed(runClis)[0]
    } catch (error) {
      if (error instanceof RefusalError) return error
      throw error
    }
  }

  /**
   * Returns a note for the answer if no model is configured: then a worker carries the run out, or the run stops at once. Its status does not tell, since a new
   * run is always `running`.
   */
  #noteOn(run: RunRow, asking: CallContext, { harness, cwd }: WantedRun): string | undefined {
    const lack = 'No model is configured here, so'
    if (isByWorker(run)) return harness ? undefined : `${lack} a worker carries it out: ${run.harness}.`
    if (run.harness !== 'loop' || !this.#loop || this.#loop.isModelConfigured(cwd)) return undefined
    const found = this.#cliFor(asking, run.parent, cwd)
    const why = found instanceof RefusalError ? ` ${refusalTextWithoutFix(found.refusal)}` : ''
    return `${lack} it stops at once; its status says what is missing.${why}`
  }

  /** Checks the asker's right to start the programs of the run: a CLI, or the MCP servers of the built-in loop. Returns the run's directory. */
  #assertMayStart(
    { session }: CallContext,
    by: string,
    harness: HarnessName,
    cwd: string | undefined,
  ): string | undefined {
    const { standing } = session
    if (harness !== 'loop') {
      const place = this.#workers.assertMayStart(standing, by, { cwd })
      return cwd === undefined ? undefined : place.cwd
    }
    const isFree = spawnRight(standing, this.#parts.store.view.policy()) === 'any'
    if (!isFree && this.#loop?.startsServers(cwd)) this.#workers.assertMayStart(standing, by, { cwd })
    return cwd
  }

  /** Returns the status of runs, each named by its id or its agent's name, and of workers by their names. */
  async status(
    asking: CallContext,
    { runs: ids, whole = false }: ParsedInputOf<'run.status'>,
    url?: string,
  ): Promise<OutputOf<'run.status'>> {
    const reader = readerOf(asking)
    const texts = new WholeTextBudget(whole)
    const { view } = this.#parts.store
    const { runs } = view
    const known = runs.byIds(ids)
    const statusOf = async (id: string) => {
      const byId = known.get(id)
      const row = byId ?? runs.byAgent(id)
      if (row && (byId ? seesRunById : sees)(view, reader, 'progress', row))
        return {
          ...this.#lastScreen(row, asking),
          ...this.#describe(row, asking, url),
          ...this.#whole(row, reader, texts),
        }
      const worker = row ? undefined : await workerAsRun(view, this.#workers, reader, { name: id, texts })
      return worker ?? { id, error: refusalTextWithoutFix(new RefusalError('run.unknown', { run: id }).refusal) }
    }
    return { runs: await Promise.all(ids.map(statusOf)) }
  }

  *list(
    asking: CallContext,
    { status, limit = listDefault, whole = false }: ParsedInputOf<'run.list'>,
    url?: string,
  ): Steps<OutputOf<'run.list'>> {
    const { view } = this.#parts.store
    const reader = readerOf(asking)
    const texts = new WholeTextBudget(whole)
    const rows = yield* view.runs.list(seesAllRuns(view, reader) ? undefined : reader.agent, status, limit)
    const titled = (row: RunRow) => ({
      ...this.#describe(row, asking, url),
      title: firstLine(view.runs.contractHead(row.id)),
      ...this.#whole(row, reader, texts),
    })
    return { runs: rows.map(titled) }
  }

  async complete(asking: CallContext, input: ParsedInputOf<'run.complete'>, url?: string): Promise<Run> {
    const { run, summary } = input
    const { standing } = asking.session
    const row = this.#row(run)
    // Compresses the payload only if the run is likely to take it; the rule itself decides at the commit.
    const isWanted = row?.status === 'running' && mayEndRun(row, readerOf(asking))
    const packed = isWanted && input.payload !== undefined ? await packPayload(input.payload) : {}
    const submitted = { run, summary, standing, ...packed }
    await submitCall(this.#parts, { ...asking, by: actorOf(asking) }, 'run.complete', submitted)
    return this.#describe(this.#row(run) as RunRow, asking, url)
  }

  async stop(asking: CallContext, { run, reason }: ParsedInputOf<'run.stop'>, url?: string): Promise<Run> {
    const input = { run, reason, standing: asking.session.standing }
    await submitCall(this.#parts, { ...asking, by: actorOf(asking) }, 'run.stop', input)
    return this.#describe(this.#row(run) as RunRow, asking, url)
  }

  async payload(asking: CallContext, run: string): Promise<OutputOf<'run.payload'>> {
    const row = this.#visibleRun(asking, run)
    return {
      size: row.payloadBytes as number,
      gzip: Buffer.from(await this.payloads.payloadOf(run)).toString('base64'),
    }
  }

  contract(asking: CallContext, run: string): OutputOf<'run.contract'> {
    return { contract: this.reports.contractOf(this.#visibleRun(asking, run, sees).id) }
  }

  /** Returns a run. Refuses one that the asker may not see as unknown. */
  #visibleRun(asking: CallContext, run: string, rule: typeof seesRunById = seesRunById): RunRow {
    const row = this.#row(run)
    if (row && rule(this.#parts.store.view, readerOf(asking), 'run', row)) return row
    throw new RefusalError('run.unknown', { run })
  }

  #row(id: string): RunRow | undefined {
    return this.#parts.store.view.runs.byId(id)
  }

  /** Whether the agent carries out a run, and so must be able to complete it. */
  isCarriedOutBy(agent: string): boolean {
    return this.#parts.store.view.runs.currentRunOf(agent) !== undefined
  }

  /** Sends the run's contract to the agent that was named for the run, as a message from the asker. A repeated start does not send it again. */
  async #sendContract(id: string, agent: string, parent: string, contract: string): Promise<void> {
    const how = `Contract ${id} is yours. When it is done: agent_complete(agent_id="${id}", summary, payload).`
    const input = { to: agent, body: `${how}\n\n${contract}`, kind: 'directive' as const }
    const reply = await this.#parts.engine.submit({ rule: 'message.send', input, by: parent, cause: `${id}/contract` })
    if ('refusal' in reply) await this.reports.end(id, `${agent} could not be told: ${reply.refusal.message}`)
  }

  #whole(row: RunRow, reader: Reader, texts: WholeTextBudget): Pick<Run, 'contract'> {
    const { view } = this.#parts.store
    return texts.hasRoom && sees(view, reader, 'run', row) ? { contract: texts.add(view.runs.contract(row.id)) } : {}
  }

  #describe(row: RunRow, asking: CallContext, url: string | undefined): Run {
    const { id, agent, parent, harness, model, status, startedAt, endedAt, summary, reason, payloadBytes, again } = row
    const run: Run = { id, agent, parent, harness, status, startedAt: new Date(startedAt).toISOString() }
    if (model !== undefined) run.model = model
    if (again !== undefined) run.again = again
    const reader = readerOf(asking)
    const isCounted = parent === reader.agent || sees(this.#parts.store.view, reader, 'spend', { agent })
    const spend = isCounted && hasCredential(asking.session) ? this.#parts.store.spend.ofRun(id) : undefined
    if (spend) run.spend = spend
    const ended = endedAt === undefined ? undefined : new Date(endedAt).toISOString()
    if (status === 'completed') Object.assign(run, { completedAt: ended, summary })
    if (status === 'stopped')
      Object.assign(run, { stoppedAt: ended, ...(reason === undefined ? {} : { stopReason: reason }) })
    const isShown = !isByWorker(row) || hasCredential(asking.session)
    if (status === 'running' && isByWorker(row) && isShown) Object.assign(run, blockedNote(this.#workers, agent))
    if (payloadBytes !== undefined) run.payloadSize = payloadBytes
    if (payloadBytes !== undefined && url !== undefined && seesRunById(this.#parts.store.view, reader, 'run', row))
      run.payloadUrl = isRunIdEnough(reader) ? payloadAddress(url, id) : this.payloads.addressWithRight(url, id)
    const preview = status === 'running' && isShown ? this.reports.outputOf(id) : undefined
    if (preview !== undefined) run.preview = preview
    return run
  }

  /** Returns the last screen of a stopped run's worker, which may say why the run stopped. */
  #lastScreen(row: RunRow, { session }: CallContext): Pick<Run, 'preview'> {
    if (row.status !== 'stopped' || !isByWorker(row) || !hasCredential(session)) return {}
    const preview = lastScreenOfRun(this.#parts.store.view, this.#workers, row.agent)
    return preview === undefined ? {} : { preview }
  }
}

function isByWorker({ harness }: RunRow): boolean {
  return harness !== 'loop' && harness !== 'external'
}
