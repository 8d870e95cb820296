// Runs: contracts given to agents. What a command makes of a run in each state, and who may end one.
//
// A run is `ready` until its start is written, which is at once; whatever is over stays as it is, and saying so again is no error.

import type { Fact, HarnessName, RunState } from '@agent-relay/sdk/protocol'
import { newcomer, tokenFor, unknownAgent } from './agents.ts'
import { type End, noticeOf } from './run-notice.ts'
import { type Command, record, refuse, type Verdict } from './verdict.ts'
import type { RunRow, View } from './view.ts'

export const moves = {
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
  /** The hash of a token for the run's own agent, where the loop is to act as it. */
  tokenHash?: string
}

export function start(view: View, { input, by, mint }: Command<StartInput>): Verdict {
  const { contract, harness, model, cwd, tokenHash } = input
  const agent = harness === 'external' ? (input.agent ?? by) : agentOf(view, mint)
  if (harness === 'external' && agent !== by && !view.agent(agent)) return unknownAgent(view, agent)
  const facts: Fact[] = []
  if (tokenHash !== undefined) {
    const profile = { name: agent, cli: harness, model, parent: view.agent(by) ? by : undefined }
    facts.push(...newcomer(view, mint, profile), tokenFor(agent, tokenHash))
  }
  facts.push({ type: 'run.started', id: mint, agent, parent: by, harness, model, cwd })
  return record(facts, { run: mint }, contract)
}

/** Short, so that others can write to it; the end of an id differs the most. */
function agentOf(view: View, id: string): string {
  const name = `run-${id.slice(-6)}`
  return view.agent(name) ? `run-${id.slice(4)}` : name
}

export interface CompleteInput {
  run: string
  summary: string
  /** As gzip; `payloadBytes` is its size before that. */
  payload?: Uint8Array
  payloadBytes?: number
  isHolder: boolean
}

export function complete(view: View, command: Command<CompleteInput>): Verdict {
  const { input, by } = command
  const { run: id, summary, payload, payloadBytes, isHolder } = input
  const run = view.runs.byId(id)
  if (!run) return refuse('run.unknown', { run: id })
  if (!mayEnd(run, by, isHolder)) return notYours(run)
  if (moves[run.status].complete === run.status) return record([], { run: id })
  const fact: Fact = { type: 'run.completed', id, agent: run.agent, summary, payloadBytes }
  return { ...ended(view, command, run, fact, { status: 'completed', summary, payloadBytes }), payload }
}

export interface StopInput {
  run: string
  reason?: string
  isHolder: boolean
}

export function stop(view: View, command: Command<StopInput>): Verdict {
  const { input, by } = command
  const { run: id, reason, isHolder } = input
  const run = view.runs.byId(id)
  if (!run) return refuse('run.unknown', { run: id })
  if (!mayEnd(run, by, isHolder)) return notYours(run)
  if (moves[run.status].stop === run.status) return record([], { run: id })
  return ended(view, command, run, { type: 'run.stopped', id, agent: run.agent, reason }, { status: 'stopped', reason })
}

/** The end and the word of it are one entry: neither can be without the other. */
function ended(view: View, command: Command<unknown>, run: RunRow, fact: Fact, end: End) {
  const { facts, body } = noticeOf(view, command, run, end)
  return record([fact, ...facts], { run: run.id }, body)
}

/** Its own agent, who asked for it, and the workspace key's holder; so that no other agent can speak for it. */
export function mayEnd({ agent, parent }: RunRow, by: string, isHolder: boolean): boolean {
  return isHolder || by === agent || by === parent
}

function notYours({ id, agent, parent }: RunRow): Verdict {
  return refuse('run.not-yours', { run: id, agent, parent })
}
