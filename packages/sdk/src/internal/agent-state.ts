// Decides which state of an agent people are shown, from everything known about the agent: an unreachable machine, open approvals, the daemon that runs its
// program, its waits for other agents, and its program's own reports. The first check that applies decides, so that every list shows the same state.

import type { Agent } from '../protocol/words.ts'

export interface AgentState {
  kind:
    | 'unreachable'
    | 'blocked'
    | 'paused'
    | 'waiting'
    | 'starting'
    | 'busy'
    | 'idle'
    | 'active'
    | 'failed'
    | 'offline'
  /** The state as a text: its kind, and what the agent waits for. */
  text: string
  /** Whether only a person can end the state. */
  needsPerson: boolean
}

const openDialog = 'a dialog is open'

export function agentState(
  agent: Pick<Agent, 'status' | 'blocked' | 'worker' | 'waitingFor' | 'doing' | 'machine' | 'failed'>,
): AgentState {
  const { status, blocked, worker, waitingFor, doing, machine, failed } = agent
  const state = (kind: AgentState['kind'], text: string = kind, needsPerson = false) => ({ kind, text, needsPerson })
  if (status === 'unreachable') return state('unreachable', `out of reach, on ${machine}`)
  if (blocked) {
    const wants = blocked.tool === 'dialog' ? openDialog : (blocked.wants ?? 'waits for an approval')
    return state('blocked', `blocked: ${wants}`, true)
  }
  if (worker?.status === 'blocked') return state('blocked', `blocked: ${worker.reason ?? openDialog}`, true)
  if (worker?.status === 'paused') return state('paused')
  if (waitingFor) return state('waiting', `waiting for ${waitingFor.agent}`)
  if (worker?.status === 'wished' || worker?.status === 'starting') return state('starting')
  if (worker?.status === 'busy' || worker?.status === 'idle') return state(worker.status)
  if (doing?.state === 'waiting') return state('waiting', `waiting: ${doing.for ?? openDialog}`, true)
  if (status === 'offline' && failed !== undefined) return state('failed', `failed: ${failed}`, true)
  return state(doing?.state ?? status)
}
