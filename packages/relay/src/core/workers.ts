// Workers: who may wish for one, what may be wished of it, and how its program fares. What runs the programs reads the rows and reports.
//
//   wished → starting → ready ⇄ blocked | paused → exited      any but exited → exited
//
// A wish and what became of it are two columns: the daemon compares them and acts, and nothing hangs on a callback.

import { daemonName, type Fact, limits, type ParsedInputOf, type WorkerStatus } from '@agent-relay/sdk/protocol'
import { newcomer, profile } from './agents.ts'
import { nearest } from './nearest.ts'
import { type Command, type Refused, record, refuse, type Verdict } from './verdict.ts'
import type { View, WorkerRow } from './view.ts'

export interface SpawnInput extends ParsedInputOf<'worker.spawn'> {
  cwd: string
  isInjected: boolean
}

export function spawn(view: View, command: Command<SpawnInput>): Verdict {
  const { input, by: parent, mint: id } = command
  const { name, cli, command: words, args, model, cwd, isInjected, task } = input
  const running = view.workers.running()
  if (running.some((worker) => worker.name === name)) return refuse('worker.exists', { name })
  if (running.length >= limits.workersMax) return refuse('worker.too-many', { count: running.length })
  const taken = nameTaken(view, command)
  if (taken) return taken
  const agent = { name, cli, model, parent }
  const known = view.agent(name)
  const facts: Fact[] = known
    ? [{ type: 'agent.updated', agent: profile({ ...known, ...agent }) }]
    : newcomer(view, id, agent)
  const wished: Fact = {
    type: 'worker.wished',
    id,
    worker: name,
    parent,
    cli,
    command: words,
    args,
    model,
    cwd,
    isInjected,
  }
  return record([...facts, wished], { id }, task)
}

/** A name that somebody else has, even one who is away: a worker must not get another's mail. */
function nameTaken(view: View, { input: { name }, by, world }: Command<SpawnInput>): Refused | undefined {
  const known = view.agent(name)
  if (name === daemonName || (known && world.isLive(name))) return refuse('agent.name-taken', { name })
  return known && known.parent !== by ? refuse('agent.name-offline', { name }) : undefined
}

export interface WishInput {
  name: string
  reason?: string
  /** The caller has shown the workspace key. */
  isHolder: boolean
}

export function release(view: View, command: Command<WishInput>): Verdict {
  return wishFor(view, command, 'gone', 'release it')
}

export function pause(view: View, command: Command<WishInput>): Verdict {
  return wishFor(view, command, 'paused', 'pause it')
}

export function resume(view: View, command: Command<WishInput>): Verdict {
  return wishFor(view, command, 'run', 'resume it')
}

function wishFor(view: View, command: Command<WishInput>, wish: WorkerRow['wish'], what: string): Verdict {
  const { input, by } = command
  const { name, reason, isHolder } = input
  const worker = view.workers.byName(name)
  if (!worker) return unknownWorker(view, name)
  if (!isInCharge(view, worker, by, isHolder)) return refuse('worker.not-yours', { name, parent: worker.parent, what })
  const { id } = worker
  if (worker.status === 'exited') return refuse('worker.exited', { name, reason: worker.reason })
  // Who was told to go does not come back.
  if (worker.wish === wish || worker.wish === 'gone') return record([], { id })
  return record([{ type: 'worker.wish-changed', id, worker: name, wish, reason }], { id })
}

/** Its parent, that one's own parent and so on, people, and the key's holder. */
export function isInCharge(view: View, worker: WorkerRow, agent: string, isHolder: boolean): boolean {
  if (isHolder || view.agent(agent)?.type === 'human') return true
  const passed = new Set<string>()
  for (let above: string | undefined = worker.parent; above !== undefined; above = view.agent(above)?.parent) {
    if (above === agent) return true
    // Two agents may each name the other as parent.
    if (passed.has(above)) return false
    passed.add(above)
  }
  return false
}

/** Those in charge, and whom the workspace's policy names. */
export function maySeeTerminal(view: View, worker: WorkerRow, agent: string, isHolder: boolean): boolean {
  if (isInCharge(view, worker, agent, isHolder)) return true
  const { terminal } = view.policy()
  const seen = Object.hasOwn(terminal, agent) ? terminal[agent] : undefined
  return seen !== undefined && (seen.includes('*') || seen.includes(worker.name))
}

export interface IssueTokenInput {
  id: string
  tokenHash: string
}

/** Its own, made when its program starts; it ends with the program. */
export function issueToken(view: View, { input: { id, tokenHash } }: Command<IssueTokenInput>): Verdict {
  const worker = view.workers.byId(id)
  if (worker?.status !== 'wished') return refuse('worker.unknown', { name: id })
  return record([{ type: 'agent.token-issued', agent: worker.name, hash: tokenHash }])
}

/** How a program fares, as what runs it says. */
export interface WorkerReport {
  id: string
  status: WorkerStatus
  pid?: number
  code?: number
  /** Of an exit too, in which case it names the code. */
  reason?: string
  /** Its last screen, for its parent's eyes. */
  screen?: string
}

/** What has exited stays so; a report that says nothing new is no fact. The last screen is kept as the entry's body: not every watcher may see it. */
export function report(view: View, { input }: Command<WorkerReport>): Verdict {
  const { id, status, pid, code, reason, screen } = input
  const worker = view.workers.byId(id)
  if (!worker || worker.status === 'exited') return record([])
  if (worker.status === status && worker.reason === reason) return record([])
  const facts: Fact[] = [{ type: 'worker.changed', id, worker: worker.name, status, pid, code, reason }]
  if (status !== 'exited') return record(facts, { worker: worker.name })
  facts.push({ type: 'agent.tokens-revoked', agent: worker.name })
  return record(facts, { worker: worker.name }, screen)
}

export function unknownWorker(view: View, name: string): Refused {
  const names = view.workers.running().map((worker) => worker.name)
  return refuse('worker.unknown', { name, nearest: nearest(name, names) })
}
