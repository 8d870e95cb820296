// Rules for runs, the contracts given to agents: what each command does to a run in each state, and who may end a run.
//
// A run is `ready` until its start is stored, which happens at once. A run that has ended stays as it is; ending it again is not an error.

import type { Fact, HarnessName, RunState } from '@agent-relay/sdk/protocol'
import { newAgentFacts, refuseUnknownAgent, tokenIssuedFact } from './agents.ts'
import { freeNameOf } from './name-family.ts'
import { type RunEnd, runEndNotice } from './run-notice.ts'
import { isRunIdEnough, type Reader, seesAll, seesRunById } from './sight.ts'
import { type Command, recordFacts, refuse, type Verdict } from './verdict.ts'
import type { RunRow, View } from './view.ts'

export const runTransitions = {
  ready: { start: 'running', complete: 'completed', stop: 'stopped' },
  running: { start: 'running', complete: 'completed', stop: 'stopped' },
  stopped: { start: 'stopped', complete: 'stopped', stop: 'stopped' },
  completed: { start: 'completed', complete: 'completed', stop: 'completed' },
} as const satisfies Record<RunState, Record<string, RunState>>

export interface StartInput {
  contract: string
  harness: HarnessName
  model?: string
  cwd?: string
  agent?: string
  worktree?: boolean
  /** The id of the earlier run whose contract is repeated; `parent` is the agent that asked for that run. */
  again?: string
  parent?: string
  /** The hash of a token for the run's own agent. Set if our built-in agent (harness `loop`) is to act as that agent. */
  tokenHash?: string
}

export function start(view: View, command: Command<StartInput>): Verdict {
  const { input, by, mint, world } = command
  const { machine } = world
  const { contract, harness, model, cwd, tokenHash, worktree, again, parent = by } = input
  const agent = harness === 'external' ? (input.agent ?? by) : agentOf(view, mint)
  if (harness === 'external' && agent !== by && !view.agent(agent)) return refuseUnknownAgent(view, agent)
  const facts: Fact[] = []
  if (tokenHash !== undefined) {
    const profile = { name: agent, cli: harness, model, parent: view.agent(parent) ? parent : undefined }
    facts.push(...newAgentFacts(view, command, profile), tokenIssuedFact(agent, tokenHash))
  }
  facts.push({ type: 'run.started', id: mint, agent, parent, harness, model, cwd, machine, worktree, again })
  return recordFacts(facts, { run: mint }, contract)
}

/**
 * Makes a name for the run's own agent: short, so that others can write to it, and from the end of the run's id, where ids differ the most. Everybody sees
 * the name, and must not learn the id from it.
 */
function agentOf(view: View, id: string): string {
  const name = `run-${id.slice(-6)}`
  return freeNameOf(name, (taken) => view.agent(taken) !== undefined || view.isRetired(taken)) ?? name
}

export interface CompleteInput {
  run: string
  summary: string
  /** The payload as gzip; `payloadBytes` is its size before compression. */
  payload?: Uint8Array
  payloadBytes?: number
  /** The rights of the caller's session. */
  standing: Reader['standing']
}

export function complete(view: View, command: Command<CompleteInput>): Verdict {
  const { input, by } = command
  const { run: id, summary, payload, payloadBytes, standing } = input
  const run = view.runs.byId(id)
  const reader = { agent: by, standing }
  if (!run || !seesRunById(view, reader, 'run', run)) return refuse('run.unknown', { run: id })
  if (!mayEndRun(run, reader)) return notYours(run)
  if (runTransitions[run.status].complete === run.status) return recordFacts([], { run: id })
  const fact: Fact = { type: 'run.completed', id, agent: run.agent, summary, payloadBytes }
  return { ...ended(view, command, run, fact, { status: 'completed', summary, payloadBytes }), payload }
}

export interface StopInput {
  run: string
  reason?: string
  /** The rights of the caller's session. */
  standing: Reader['standing']
}

export function stop(view: View, command: Command<StopInput>): Verdict {
  const { input, by } = command
  const { run: id, reason, standing } = input
  const run = view.runs.byId(id)
  const reader = { agent: by, standing }
  if (!run || !seesRunById(view, reader, 'run', run)) return refuse('run.unknown', { run: id })
  if (!mayEndRun(run, reader)) return notYours(run)
  if (runTransitions[run.status].stop === run.status) return recordFacts([], { run: id })
  return ended(view, command, run, { type: 'run.stopped', id, agent: run.agent, reason }, { status: 'stopped', reason })
}

/** Ends a run. The entry that ends the run also has the notice of its end, so that neither is stored without the other. */
function ended(view: View, command: Command<unknown>, run: RunRow, fact: Fact, end: RunEnd) {
  const { facts, body } = runEndNotice(view, command, run, end)
  return recordFacts([fact, ...facts], { run: run.id }, body)
}

/**
 * Whether a reader may end a run: the run's agent, the agent that asked for it, the holder of the workspace's key, and on an open port whoever has the run's
 * id.
 */
export function mayEndRun({ agent, parent }: RunRow, by: Reader): boolean {
  return seesAll(by) || isRunIdEnough(by) || by.agent === agent || by.agent === parent
}

function notYours({ id, agent, parent }: RunRow): Verdict {
  return refuse('run.not-yours', { run: id, agent, parent })
}
