// Tells people from agents: a person is somebody on the web page, or at a terminal outside the processes of agents. A key or a name proves nothing, since an
// agent's shell can read any key and give any name. A caller whose process runs inside the processes of a connected agent is that agent. docs/SECURITY.md lists
// the cases that cannot be told apart.

import { RefusalError } from '../../core/refusal-error.ts'
import { placeOfProcess } from '../../machine/process-tree.ts'
import type { Session } from './session.ts'

/** An agent whose CLI or worker's program runs on this machine. */
export interface AgentProcess {
  workspace: string
  agent: string
}

/** Returns the processes of agents by process id, in all workspaces of the daemon. */
export type AgentProcesses = () => ReadonlyMap<number, AgentProcess>

/**
 * The kind of caller, as far as it can be known: a person, an agent, or unknown. `isOutside`: the caller's process is known, and runs outside the processes of
 * every agent.
 */
export type CallerIdentity =
  | { surface: 'page' | 'terminal' }
  | { inside: AgentProcess }
  | { why: string; isOutside?: boolean }

/** The process that a connection claims to be, with its proof. */
export type ProcessProof = Pick<Session, 'process' | 'ticket'>

export async function identifyProcess(
  { process: pid, ticket }: ProcessProof,
  agents: AgentProcesses,
): Promise<CallerIdentity> {
  if (pid === undefined) return { why: 'the calling program does not say which process it is' }
  const place = await placeOfProcess(pid, ticket)
  if (!place) return { why: 'the calling process could not be identified' }
  const known = agents()
  const nearest = place.ancestry.find((each) => known.has(each))
  if (nearest !== undefined) return { inside: known.get(nearest) as AgentProcess }
  if (place.isDetached)
    return { why: 'the calling process has detached itself from the process that started it', isOutside: true }
  return place.hasTerminal ? { surface: 'terminal' } : { why: 'the calling process has no terminal', isOutside: true }
}

export async function identifyCaller(session: Session, agents: AgentProcesses): Promise<CallerIdentity> {
  if (session.standing.isPage) return { surface: 'page' }
  if (session.standing.door !== 'owner') return { why: 'over the network, only the page counts as a person' }
  return identifyProcess(session, agents)
}

/**
 * Refuses a caller that is not a person. While no agent has a process on this machine, a script counts as a person too, since the entry point of a container
 * has no terminal; with `isStrict` it does not. `takesScript`: accepts a script at any time, unless it runs inside an agent.
 */
export async function assertPerson(
  speaker: Promise<CallerIdentity>,
  agents: AgentProcesses,
  { isStrict = false, takesScript = false } = {},
): Promise<void> {
  const who = await speaker
  if ('surface' in who || (!isStrict && agents().size === 0)) return
  if (takesScript && 'isOutside' in who) return
  throw new RefusalError('person.required', { why: whyNoPerson(who) })
}

export function whyNoPerson(speaker: Exclude<CallerIdentity, { surface: unknown }>): string {
  if ('inside' in speaker) return `the calling process belongs to the agent ${speaker.inside.agent}`
  return speaker.why
}
