// Decides whether a session may start a program, and which. All code that starts programs asks here; the supervisor starts them.

import type { Policy } from '@agent-relay/sdk/protocol'
import { RefusalError } from '../../core/refusal-error.ts'
import type { View } from '../../core/view.ts'
import { mustBeWithin } from '../../machine/working-directory.ts'
import type { Standing } from '../sessions/standing.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

/**
 * The programs that a session may start. `any`: every program. `clis`: the CLIs that the relay knows, without arguments, inside the project. `none`: no
 * program.
 */
export type SpawnRight = 'any' | 'clis' | 'none'

export function spawnRight({ door, hasKey }: Standing, { spawn }: Pick<Policy, 'spawn'>): SpawnRight {
  if (door === 'owner' || hasKey) return 'any'
  return door === 'network' ? spawn : 'none'
}

export interface SpawnWish {
  command?: readonly string[]
  args?: readonly string[]
  cwd?: string
  role?: 'lead'
}

/** Refuses a start that is not allowed, by all checks that need no access to the disk. Returns the session's right. */
export function assertMaySpawn(standing: Standing, policy: Pick<Policy, 'spawn'>, wish: SpawnWish = {}): SpawnRight {
  const right = spawnRight(standing, policy)
  if (right === 'none') throw new RefusalError('spawn.denied', { why: whyNoProgram(standing) })
  if (right === 'any') return right
  if (wish.command !== undefined) throw refusalBeyondClis('Leave `command` out and name a CLI.')
  if (wish.args !== undefined && wish.args.length > 0) throw refusalBeyondClis('Leave `args` out.')
  return right
}

interface WantedStart {
  standing: Standing
  view: View
  /** The name of the agent that the worker would work for. */
  parent: string
  wish: SpawnWish
}

/**
 * Returns the real path of the directory for a run that starts no program. It is checked all the same: the settings in that directory may name a model and its
 * address.
 */
export function checkWorkingDirectory(
  runtime: WorkerRuntime | undefined,
  { standing, view, parent, wish }: WantedStart,
): string {
  if (!runtime) throw new RefusalError('worker.unavailable')
  const isConfined = spawnRight(standing, view.policy()) !== 'any'
  return runtime.findPlace({ parent, cwd: wish.cwd, isConfined }).directory
}

/** Returns the runtime and the directory for the program; refuses a session that may not start it. */
export function assertMayStart(runtime: WorkerRuntime | undefined, { standing, view, parent, wish }: WantedStart) {
  const right = assertMaySpawn(standing, view.policy(), wish)
  // Refuses to make a worker the lead, who gets the messages to `project:lead`, if the caller has only a token and its agent is not the lead.
  const mayGiveRole = right === 'any' || view.agent(parent)?.role === 'lead'
  if (wish.role === 'lead' && !mayGiveRole) throw refusalBeyondClis('Leave `role` out: only the lead gives it.')
  if (!runtime) throw new RefusalError('worker.unavailable')
  const isConfined = right !== 'any'
  const { directory: cwd, project } = runtime.findPlace({ parent, cwd: wish.cwd, isConfined })
  return {
    runtime,
    cwd,
    /** Checks a planned worktree, which may be outside the directory that it is made for. */
    assertMayWorkIn: (worktree: string) => {
      if (isConfined) mustBeWithin({ directory: project }, worktree, { path: 'Its worktree', isWorktree: true })
    },
  }
}

function refusalBeyondClis(fix: string): RefusalError {
  const why = 'over HTTP and WebSocket the policy allows a token the named CLIs alone, in the project’s directory.'
  return new RefusalError('spawn.denied', { why: `${why} ${fix}` })
}

function whyNoProgram({ door }: Standing): string {
  if (door === 'lift') return "a lift's port serves its three tools. Use the relay of the project for workers."
  if (door === 'open')
    return 'on an open port only the workspace key starts programs. Show the key, or use the local socket: agent-relay spawn NAME --cli CLI'
  return (
    "an agent's token starts no program over HTTP or WebSocket. The workspace's owner may allow named CLIs: " +
    'agent-relay workspace policy set --spawn clis'
  )
}
