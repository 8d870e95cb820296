// Lists our agents in Claude Code's registry, so that its sessions can write to them. An agent with a process of its own has a record by its process id;
// all others share the record of the daemon.

import { dirname } from 'node:path'
import { homeWorkspace } from '@agent-relay/sdk/internal/discover'
import { daemonName } from '@agent-relay/sdk/protocol'
import { hostedSessions } from '../broker/sessions/session.ts'
import type { Workspace } from '../broker/workspace.ts'
import { mayOtherWorkspaceWrite } from '../core/workspaces.ts'
import { ClaudeInbox, type IncomingLetter } from '../supervisor/claude/inbox.ts'
import { type AgentRecord, ClaudeRecords } from '../supervisor/claude/records.ts'
import type { ClaudeSession } from '../supervisor/claude/registry.ts'

/** Name of the daemon's own record. A letter to this name begins with the name of the agent it is for. */
const daemonRecord = 'relay'
/** Maximum number of agents listed at once. */
const listedMax = 100

/** The agent that a record stands for. */
export interface ClaudeListedAgent {
  workspace: string
  agent: string
}

export interface ClaudeListOptions {
  home: string
  /** Whether the person has agreed that agents are listed in Claude Code. */
  isAllowed(): boolean
  onLetter(said: IncomingLetter, to: ClaudeListedAgent): void
  /** Called when another agent can be listed. */
  onInboxReady(): void
  onTrouble(error: Error): void
}

/** The workspaces and sessions from which the list is made. */
export interface ClaudeListInput {
  workspaces: readonly Workspace[]
  /** The sessions of Claude Code by process id. */
  sessions: ReadonlyMap<number, ClaudeSession>
  writers: readonly string[]
  /** The inbox for letters to the daemon itself; undefined if there is none. */
  inbox: ClaudeInbox | undefined
}

export class ClaudeList {
  readonly #options: ClaudeListOptions
  readonly #records: ClaudeRecords
  /** Inboxes of the listed agents, by process id. */
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

  /** The agent's record for Claude Code's list of sessions; none until the socket for its messages is open. */
  #recordsOf({ target, ...agent }: ListCandidate, folder: string): AgentRecord[] {
    const known = this.#inboxes.get(agent.pid)
    if (known?.target.agent === target.agent && known.target.workspace === target.workspace)
      return known.inbox ? [{ ...agent, socketPath: known.inbox.path }] : []
    this.#closeInbox(agent.pid)
    const opening: { inbox?: ClaudeInbox; target: ClaudeListedAgent } = { target }
    this.#inboxes.set(agent.pid, opening)
    const { onLetter, onInboxReady, onTrouble } = this.#options
    ClaudeInbox.open(folder, agent.pid, { onOutcome: () => {}, onLetter: (said) => onLetter(said, target) })
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
      // Claude Code itself writes a record for each of its sessions, even for a session that is no agent.
      const isClaude = sessions.has(host) || cli === 'claude'
      if (agent === daemonName || isClaude || host === process.pid) continue
      const target = { workspace: workspace.name, agent }
      const before = found.get(host)?.target
      // A process with several agents, such as a server of many conversations, is not listed.
      if (before && (before.agent !== agent || before.workspace !== workspace.name)) shared.add(host)
      const name = workspace.name === homeWorkspace ? agent : `${workspace.name}.${agent}`
      const isBusy = workspace.workers.stateOf(agent)?.status === 'busy'
      found.set(host, { pid: host, name, directory: directory ?? process.cwd(), isBusy, target })
    }
  }
  const own = [...found.values()].filter(({ pid, name }) => !shared.has(pid) && !taken.has(name) && taken.add(name))
  return own.slice(0, listedMax)
}

/** Whether a session of Claude Code is an agent in the workspace, or may write to it under its policy. */
function isOpenTo({ name, store }: Workspace, writers: readonly string[]): boolean {
  const policy = store.view.policy()
  return writers.some((each) => each === name || mayOtherWorkspaceWrite(policy, each))
}
