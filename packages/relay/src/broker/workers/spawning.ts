// Spawning: the one place that decides whether a session may start a program, and which. Everything that starts programs asks here; the
// supervisor starts them.

import { resolve } from 'node:path'
import type { Policy } from '@agent-relay/sdk/protocol'
import { RefusalError } from '../../core/refusal-error.ts'
import type { View } from '../../core/view.ts'
import { isInside } from '../../machine/working-directory.ts'
import type { Standing } from '../sessions/standing.ts'
import type { SpawnPlace, WorkerRuntime } from './worker-runtime.ts'

/** any: every program. clis: the CLIs that the relay knows, without arguments, inside the project. none: no program. */
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

/** Refuses what can be refused before anything is looked at on the disk. */
export function mustMaySpawn(standing: Standing, policy: Pick<Policy, 'spawn'>, wish: SpawnWish = {}): SpawnRight {
  const right = spawnRight(standing, policy)
  if (right === 'none') throw new RefusalError('spawn.denied', { why: whyNone(standing) })
  if (right === 'any') return right
  if (wish.command !== undefined) throw beyondClis('Leave `command` out and name a CLI.')
  if (wish.args !== undefined && wish.args.length > 0) throw beyondClis('Leave `args` out.')
  return right
}

/** Also asked of a worktree, which may be outside the directory that it was made for. */
export function mustMaySpawnIn(right: SpawnRight, { directory, project }: SpawnPlace): void {
  if (right === 'any') return
  if (project === undefined || !isInside(directory, project)) throw outsideProject(project)
}

function outsideProject(project?: string): RefusalError {
  if (project !== undefined) return beyondClis(`Choose a directory inside ${project}.`)
  return beyondClis('This workspace has no directory: open it there once with `agent-relay up`.')
}

interface Start {
  standing: Standing
  view: View
  /** The agent that the worker would work for. */
  parent: string
  wish: SpawnWish
}

/**
 * The real path of a directory that a run names and starts no program in. A loop still reads the model's settings of its directory: over the
 * network it works in the project.
 */
export function workingPlace(runtime: WorkerRuntime | undefined, { standing, view, parent, wish }: Start): string {
  if (!runtime) throw new RefusalError('worker.unavailable')
  const right = spawnRight(standing, view.policy())
  const outside = (project?: string) => new RefusalError('directory.outside', { path: wish.cwd, project })
  const { directory, project } = placeFor(runtime, right, { parent, cwd: wish.cwd }, outside)
  if (right !== 'any' && (project === undefined || !isInside(directory, project))) throw outside(project)
  return directory
}

/** Whoever may not work everywhere is not told what is outside the project: what is missing there, private or a link is answered alike. */
function placeFor(
  runtime: WorkerRuntime,
  right: SpawnRight,
  { parent, cwd }: { parent: string; cwd?: string },
  denied: (project?: string) => RefusalError,
): SpawnPlace {
  try {
    return runtime.place({ parent, cwd })
  } catch (error) {
    if (right === 'any' || cwd === undefined) throw error
    const project = projectOf(runtime, parent)
    if (project !== undefined && isInside(resolve(project, cwd), project)) throw error
    throw denied(project)
  }
}

function projectOf(runtime: WorkerRuntime, parent: string): string | undefined {
  try {
    return runtime.place({ parent }).project
  } catch {
    return undefined
  }
}

/** Answers what starts the program, and where; refuses a session that may not. */
export function mustMayStart(runtime: WorkerRuntime | undefined, { standing, view, parent, wish }: Start) {
  const right = mustMaySpawn(standing, view.policy(), wish)
  // Messages to `project:lead` must not go to a worker that somebody with only a token has made the lead.
  const mayGiveRole = right === 'any' || view.agent(parent)?.role === 'lead'
  if (wish.role === 'lead' && !mayGiveRole) throw beyondClis('Leave `role` out: only the lead gives it.')
  if (!runtime) throw new RefusalError('worker.unavailable')
  const place = placeFor(runtime, right, { parent, cwd: wish.cwd }, outsideProject)
  mustMaySpawnIn(right, place)
  return {
    runtime,
    cwd: place.directory,
    mustMayWorkIn: (directory: string) => mustMaySpawnIn(right, { ...place, directory }),
  }
}

function beyondClis(fix: string): RefusalError {
  const why = 'over HTTP and WebSocket the policy allows a token the named CLIs alone, in the project’s directory.'
  return new RefusalError('spawn.denied', { why: `${why} ${fix}` })
}

function whyNone({ door }: Standing): string {
  if (door === 'lift') return "a lift's port serves its three tools. Use the relay of the project for workers."
  if (door === 'open')
    return 'on an open port only the workspace key starts programs. Show the key, or use the local socket: agent-relay spawn'
  return (
    "an agent's token starts no program over HTTP or WebSocket. The workspace's owner may allow named CLIs: " +
    'agent-relay workspace policy set --spawn clis'
  )
}
