// Rules for workers, the programs that the daemon runs for agents: who may hire a worker, what may be asked of it, and the status of its program. The
// supervisor runs the programs and reports.
//
//   wished → starting → ready ⇄ blocked | paused → exited      any but exited → exited
//
// The wish for a worker and the status of its program are two columns. The supervisor compares the two and acts, so nothing depends on a callback.

import {
  type Fact,
  limits,
  type ParsedInputOf,
  type WorkerAsked,
  type WorkerChanged,
  type Worktree,
} from '@agent-relay/sdk/protocol'
import { isWorkerLost, newAgentFacts, pickProfile } from './agents.ts'
import { claimEndFacts } from './claims.ts'
import { findHandleOwner, readsLikeDaemon } from './handles.ts'
import { homeBlockingName, homeHereFacts, isOnOtherMachine } from './homes.ts'
import { nearestNames } from './nearest.ts'
import { agentGivingCommand, type RemoteCaller, refuseForged, remoteCallerText } from './requests.ts'
import { isInCharge, type Reader, sees } from './sight.ts'
import { type Command, type Refused, recordFacts, refuse, type Verdict } from './verdict.ts'
import type { View, WorkerRow } from './view.ts'

export interface SpawnInput extends Omit<ParsedInputOf<'worker.spawn'>, 'worktree'>, RepeatedStart {
  cwd: string
  isInjected: boolean
  worktree?: Worktree
}

/** Set for a worker that gets the task of a former worker again. The new worker has the same parent, whoever gives the command. */
export interface RepeatedStart {
  again?: string
  parent?: string
  /** The original request, if this one differs from it. */
  asked?: WorkerAsked
}

export function spawn(view: View, command: Command<SpawnInput>): Verdict {
  const { input, mint: id, world } = command
  const { name, cli, command: words, args, model, role, cwd, isInjected, control, worktree, task, asked, again } = input
  const parent = hirerOf(command)
  // Refuses a retired parent, which could neither hear of the worker nor end it.
  if (again !== undefined && view.isRetired(parent)) return refuse('agent.name-retired', { name: parent })
  const running = view.workers.running()
  if (running.some((worker) => worker.name === name))
    return refuse(again === undefined ? 'worker.exists' : 'worker.running', { name })
  const here = running.filter(({ machine }) => machine === world.machine).length
  if (here >= limits.workersMax) return refuse('worker.too-many', { count: here })
  const taken = nameTaken(view, command)
  if (taken) return taken
  const agent = { name, cli, model, parent, ...(role === undefined ? {} : { role }) }
  const known = view.agent(name)
  const facts: Fact[] = known
    ? [...homeHereFacts(view, world, name), { type: 'agent.updated', agent: pickProfile({ ...known, ...agent }) }]
    : newAgentFacts(view, command, agent)
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
    control: control === 'acp' ? control : undefined,
    worktree,
    machine: world.machine,
    asked,
    again,
  }
  return recordFacts([...facts, wished], { id }, task)
}

function hirerOf({ input, by }: Command<SpawnInput>): string {
  return input.parent ?? by
}

/** Refuses a name that another agent has, even one that is away: otherwise the worker would get that agent's mail. */
function nameTaken(view: View, command: Command<SpawnInput>): Refused | undefined {
  const { world } = command
  const { name } = command.input
  const known = view.agent(name)
  if (view.isRetired(name)) return refuse('agent.name-retired', { name })
  if (readsLikeDaemon(name) || world.isLive(name)) return refuse('agent.name-taken', { name })
  const owner = known ? undefined : findHandleOwner(view, world, name)
  if (owner) return refuse('agent.handle-taken', { handle: name, name: owner.name })
  const home = known && homeBlockingName(view, world, name)
  if (home) return refuse('agent.elsewhere', { name, machine: home.machine })
  return known && known.parent !== hirerOf(command) ? refuse('agent.name-offline', { name }) : undefined
}

export interface WishInput {
  name: string
  reason?: string
  /** The rights of the caller's session. */
  standing: Reader['standing']
  /** The caller's machine and name. Unset if the caller is on this machine. */
  asker?: RemoteCaller
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
  const { input, at, world } = command
  const found = findInCharge(view, command, what)
  if ('refusal' in found) return found
  const { worker } = found
  const { id, name, machine } = worker
  if (wish === 'gone' && isWorkerLost(world, worker)) {
    const why = `its machine, ${worker.machine}, was removed from the cluster`
    return recordFacts(
      [
        { type: 'worker.changed', id, worker: name, status: 'exited', reason: why },
        ...workerEndFacts(view, worker, at),
      ],
      { id },
    )
  }
  if (isOnOtherMachine(view, world, worker)) return refuse('worker.runs-elsewhere', { name, machine, what })
  // A release is final: a released worker can be neither paused nor resumed.
  if (worker.wish === wish || worker.wish === 'gone') return recordFacts([], { id })
  return recordFacts([{ type: 'worker.wish-changed', id, worker: name, wish, reason: reasonOf(input) }], { id })
}

/** Finds the worker of this name that runs. Refuses a caller that is not in charge of it. `what`: what the caller wants. */
function findInCharge(view: View, command: Command<WishInput>, what: string): Refused | { worker: WorkerRow } {
  const { name, standing } = command.input
  const refused = refuseForged(view, command)
  if (refused) return refused
  const worker = view.workers.byName(name)
  const reader = { agent: agentGivingCommand(command), standing }
  if (!worker) return refuseUnknownWorker(view, reader, name)
  if (!isInCharge(view, reader, worker)) return refuseNotYours(view, reader, worker, what)
  if (worker.status === 'exited') return refuse('worker.exited', { name, reason: worker.reason })
  return { worker }
}

/**
 * The turn of a worker, as its program shows it. A program that waits for a person's answer is still in its turn. `unknown`: the relay knows no way to
 * interrupt it.
 */
export type WorkerTurn = 'under way' | 'none' | 'starting' | 'unknown'

const noTurnReasons = { none: 'it waits for its next prompt', starting: 'it is still starting' } as const

export interface InterruptInput extends WishInput {
  turn: WorkerTurn
}

/** Allows an interrupt to those who may release the worker. The program itself is interrupted afterwards. */
export function interrupt(view: View, command: Command<InterruptInput>): Verdict {
  const { input, world } = command
  const what = 'interrupt it'
  const found = findInCharge(view, command, what)
  if ('refusal' in found) return found
  const { id, name, cli, machine, wish } = found.worker
  if (isOnOtherMachine(view, world, found.worker)) return refuse('worker.runs-elsewhere', { name, machine, what })
  if (wish === 'gone') return refuse('worker.no-turn', { name, why: 'it is being released' })
  if (input.turn === 'unknown') return refuse('worker.no-interrupt', { name, cli })
  if (wish === 'paused') return refuse('worker.no-turn', { name, why: 'it is paused, and can be resumed or released' })
  if (input.turn !== 'under way') return refuse('worker.no-turn', { name, why: noTurnReasons[input.turn] })
  return recordFacts([{ type: 'worker.interrupted', id, worker: name, reason: reasonOf(input) }], { id })
}

/** Returns the reason that is stored with the wish. The reason names a caller on another machine, since the entry itself names only this machine's daemon. */
function reasonOf({ reason, asker }: WishInput): string | undefined {
  if (!asker) return reason
  return `asked by ${remoteCallerText(asker)}${reason === undefined ? '' : `: ${reason}`}`
}

export interface IssueTokenInput {
  id: string
  tokenHash: string
}

/** Issues the worker's own token when its program starts. The token is revoked when the program ends. */
export function issueToken(view: View, { input: { id, tokenHash } }: Command<IssueTokenInput>): Verdict {
  const worker = view.workers.byId(id)
  if (worker?.status !== 'wished') return refuse('worker.unknown', { name: id })
  return recordFacts([{ type: 'agent.token-issued', agent: worker.name, hash: tokenHash }])
}

/** The status of a worker's program, as the supervisor reports it. The reason for an exit includes the exit code. */
export interface WorkerReport extends Omit<WorkerChanged, 'type' | 'worker'> {
  /** The terminal's last screen, for the message to the worker's parent. */
  screen?: string
  /** Whether the worktree held no work and was removed. Set on exit. */
  isWorktreeRemoved?: boolean
  /** The work in the worktree, which is kept, for the message to the worker's parent. Set on exit. */
  kept?: string
}

/**
 * Records a worker's status. An exited worker stays exited, and a report without news is not stored. The last screen becomes the entry's body, because not
 * every watcher may see it.
 */
export function report(view: View, { input, at }: Command<WorkerReport>): Verdict {
  const { id, status, pid, code, reason, control, conversation, screen, isWorktreeRemoved } = input
  const worker = view.workers.byId(id)
  if (!worker || worker.status === 'exited') return recordFacts([])
  const isSame = worker.status === status && worker.reason === reason
  if (isSame && control === undefined && conversation === undefined) return recordFacts([])
  const changed = { id, worker: worker.name, status, pid, code, reason, control, conversation }
  const facts: Fact[] = [{ type: 'worker.changed', ...changed }]
  if (status !== 'exited') return recordFacts(facts, { worker: worker.name })
  if (isWorktreeRemoved) facts.push({ type: 'worker.worktree-removed', id, worker: worker.name })
  facts.push(...workerEndFacts(view, worker, at))
  return recordFacts(facts, { worker: worker.name }, screen)
}

/** Returns the facts that end what a worker held: its tokens and its claims. */
function workerEndFacts(view: View, { name }: WorkerRow, at: number): Fact[] {
  return [{ type: 'agent.tokens-revoked', agent: name }, ...claimEndFacts(view, name, at)]
}

export interface WorktreeRemovalsInput {
  /** The ids of workers that have exited and whose worktrees were removed. */
  ids: string[]
  answer?: Record<string, unknown>
}

export function recordWorktreeRemovals(
  view: View,
  { input: { ids, answer } }: Command<WorktreeRemovalsInput>,
): Verdict {
  const rows = ids.map((id) => view.workers.byId(id)).filter((row) => row?.worktree && row.status === 'exited')
  const facts = (rows as WorkerRow[]).map(
    ({ id, name }): Fact => ({ type: 'worker.worktree-removed', id, worker: name }),
  )
  return recordFacts(facts, answer)
}

/** Refuses a command about another agent's worker. For a caller that may not see the worker, the refusal is that of an unknown worker. */
export function refuseNotYours(view: View, reader: Reader, worker: WorkerRow, what: string): Refused {
  const { name, parent } = worker
  const isSeen = sees(view, reader, 'worker', worker) || sees(view, reader, 'terminal', worker)
  return isSeen ? refuse('worker.not-yours', { name, parent, what }) : refuseUnknownWorker(view, reader, name)
}

export function refuseUnknownWorker(view: View, reader: Reader, name: string): Refused {
  const seen = view.workers.running().filter((worker) => sees(view, reader, 'worker', worker))
  const names = seen.map((worker) => worker.name)
  return refuse('worker.unknown', { name, nearest: nearestNames(name, names), ofRunning: true })
}
