// Lists our agents in Claude Code's own registry of sessions, so that its sessions can write to them. An agent whose program has a process of its own gets a
// record under its process id; all others share the daemon's record.

import { dirname } from 'node:path'
import { homeWorkspace } from '@agent-relay/sdk/internal/discover'
import { daemonName } from '@agent-relay/sdk/protocol'
import { hostedSessions } from '../broker/sessions/session.ts'
import type { Workspace } from '../broker/workspace.ts'
import { mayOtherWorkspaceWrite } from '../core/workspaces.ts'
import { ClaudeInbox, type IncomingText } from '../supervisor/claude/inbox.ts'
import { type AgentRecord, ClaudeRecords } from '../supervisor/claude/records.ts'
import type { ClaudeSession } from '../supervisor/claude/registry.ts'

/** Name of the daemon's own record. A message to it must begin with the name of the agent that it is for. */
const daemonRecord = 'relay'
/** Maximum number of agents listed at once. */
const listedMax = 100

/** The agent that receives what is sent to a record in Claude Code's registry. */
export interface ClaudeListedAgent {
  workspace: string
  agent: string
}

export interface ClaudeListOptions {
  home: string
  /** Whether the person has agreed that our agents are listed in Claude Code. */
  isAllowed(): boolean
  onText(said: IncomingText, to: ClaudeListedAgent): void
  /** Called when the socket of another agent is open, so that its record can be added. */
  onInboxReady(): void
  onTrouble(error: Error): void
}

/** The workspaces and sessions from which the list of agents is made. */
export interface ClaudeListInput {
  workspaces: readonly Workspace[]
  /** The sessions of Claude Code by process id. */
  sessions: ReadonlyMap<number, ClaudeSession>
  writers: readonly string[]
  /** The socket for messages to the daemon's own record; undefined if there is none. */
  inbox: ClaudeInbox | undefined
}

export class ClaudeList {
  readonly #options: ClaudeListOptions
  readonly #records: ClaudeRecords
  /** The sockets of the listed agents, by the agents' process ids. */
  readonly #inboxes = new Map<number, { inbox?: ClaudeInbox; target: ClaudeListedAgent }>()

  constructor(options: ClaudeListOptions) {
    this.#options = options
    this.#records = new ClaudeRecords(options.home)
  }

  get socketPaths(): string[] {
    return [...this.#inboxes.values()].flatMap(({ inbox }) => inbox?.path ?? [])
  }

  update(around: ClaudeListInput): void {
    const { sessions, inbox } = around
    const [like] = sessions.values()
    const isAllowed = this.#options.isAllowed() && like !== undefined && inbox !== undefined
    const agents = isAllowed ? listableAgents(around) : []
    for (const pid of [...this.#inboxes.keys()]) if (!agents.some((each) => each.pid === pid)) this.#closeInbox(pid)
    const listed = agents.flatMap((agent) => this.#recordsOf(agent, dirname(like?.socketPath ?? '')))
    const own = {
      pid: process.pid,
      name: daemonRecord,
      directory: process.cwd(),
      isBusy: false,
      socketPath: inbox?.path ?? '',
    }
    this.#records.replaceAll(isAllowed ? [own, ...listed] : [], like)
  }

  close(): void {
    this.#records.close()
    for (const pid of [...this.#inboxes.keys()]) this.#closeInbox(pid)
  }

  /** Returns the record of an agent; none while the socket that takes its messages is being opened. */
  #recordsOf({ target, ...agent }: ListCandidate, folder: string): AgentRecord[] {
    const known = this.#inboxes.get(agent.pid)
    if (known?.target.agent === target.agent && known.target.workspace === target.workspace)
      return known.inbox ? [{ ...agent, socketPath: known.inbox.path }] : []
    this.#closeInbox(agent.pid)
    const opening: { inbox?: ClaudeInbox; target: ClaudeListedAgent } = { target }
    this.#inboxes.set(agent.pid, opening)
    const { onText, onInboxReady, onTrouble } = this.#options
    ClaudeInbox.open(folder, agent.pid, { onOutcome: () => {}, onText: (said) => onText(said, target) })
      .then((inbox) => {
        if (this.#inboxes.get(agent.pid) !== opening) return inbox.close()
        opening.inbox = inbox
        onInboxReady()
      })
      .catch(onTrouble)
    return []
  }

  #closeInbox(pid: number): void {
    this.#inboxes.get(pid)?.inbox?.close()
    this.#inboxes.delete(pid)
  }
}

interface ListCandidate extends Omit<AgentRecord, 'socketPath'> {
  target: ClaudeListedAgent
}

function listableAgents({ workspaces, sessions, writers }: ClaudeListInput): ListCandidate[] {
  const taken = new Set<string>([daemonRecord, ...[...sessions.values()].map(({ name }) => name)])
  const found = new Map<number, ListCandidate>()
  const shared = new Set<number>()
  for (const workspace of workspaces.filter((each) => isOpenTo(each, writers))) {
    for (const { agent, host, directory, cli } of hostedSessions(workspace.sessions.all())) {
      // Claude Code writes a record for each of its own sessions, so none is added here.
      const isClaude = sessions.has(host) || cli === 'claude'
      if (agent === daemonName || isClaude || host === process.pid) continue
      const target = { workspace: workspace.name, agent }
      const before = found.get(host)?.target
      // If several agents share a process, as in a server of many conversations, none of them is listed.
      if (before && (before.agent !== agent || before.workspace !== workspace.name)) shared.add(host)
      const name = workspace.name === homeWorkspace ? agent : `${workspace.name}.${agent}`
      const isBusy = workspace.workers.stateOf(agent)?.status === 'busy'
      found.set(host, { pid: host, name, directory: directory ?? process.cwd(), isBusy, target })
    }
  }
  const own = [...found.values()].filter(({ pid, name }) => !shared.has(pid) && !taken.has(name) && taken.add(name))
  return own.slice(0, listedMax)
}

/** Whether the workspace's agents are listed for these sessions: one of them is an agent of the workspace, or its policy lets their workspace write to it. */
function isOpenTo({ name, store }: Workspace, writers: readonly string[]): boolean {
  const policy = store.view.policy()
  return writers.some((each) => each === name || mayOtherWorkspaceWrite(policy, each))
}
