// Lists our agents in Claude Code's registry, so that its sessions can write to them. An agent with a process of its own has a record by its process id;
// all others share the record of the daemon.

import { dirname } from 'node:path'
import { homeWorkspace } from '@agent-relay/sdk/internal/discover'
import { daemonName } from '@agent-relay/sdk/protocol'
import { hostedAmong } from '../broker/sessions/session.ts'
import type { Workspace } from '../broker/workspace.ts'
import { mayWrite } from '../core/workspaces.ts'
import { ClaudeInbox, type SaidToUs } from '../supervisor/claude/inbox.ts'
import { ClaudeRecords, type Listed } from '../supervisor/claude/records.ts'
import type { ClaudeSession } from '../supervisor/claude/registry.ts'

/** Name of the daemon's own record: a letter to it names an agent at its start. */
const daemonRecord = 'relay'
/** Maximum number of agents listed at once. */
const listedMax = 100

/** The agent that a record stands for. */
export interface Target {
  workspace: string
  agent: string
}

export interface ClaudeListOptions {
  home: string
  /** Whether the person has agreed to the listing. */
  isAllowed(): boolean
  onSaid(said: SaidToUs, to: Target): void
  /** Called when another agent can be listed. */
  onReady(): void
  onTrouble(error: Error): void
}

/** The present state, from which the list is made. */
export interface Around {
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
  readonly #inboxes = new Map<number, { inbox?: ClaudeInbox; target: Target }>()

  constructor(options: ClaudeListOptions) {
    this.#options = options
    this.#records = new ClaudeRecords(options.home)
  }

  get sockets(): string[] {
    return [...this.#inboxes.values()].flatMap(({ inbox }) => inbox?.path ?? [])
  }

  update(around: Around): void {
    const { sessions, inbox } = around
    const [like] = sessions.values()
    const isAllowed = this.#options.isAllowed() && like !== undefined && inbox !== undefined
    const agents = isAllowed ? agentsIn(around) : []
    for (const pid of [...this.#inboxes.keys()]) if (!agents.some((each) => each.pid === pid)) this.#shut(pid)
    const listed = agents.flatMap((agent) => this.#listed(agent, dirname(like?.socketPath ?? '')))
    const own = {
      pid: process.pid,
      name: daemonRecord,
      directory: process.cwd(),
      isBusy: false,
      socketPath: inbox?.path ?? '',
    }
    this.#records.list(isAllowed ? [own, ...listed] : [], like)
  }

  close(): void {
    this.#records.close()
    for (const pid of [...this.#inboxes.keys()]) this.#shut(pid)
  }

  /** The agent's record for Claude Code's list of sessions; none until the socket for its messages is open. */
  #listed({ target, ...agent }: Found, folder: string): Listed[] {
    const known = this.#inboxes.get(agent.pid)
    if (known?.target.agent === target.agent && known.target.workspace === target.workspace)
      return known.inbox ? [{ ...agent, socketPath: known.inbox.path }] : []
    this.#shut(agent.pid)
    const opening: { inbox?: ClaudeInbox; target: Target } = { target }
    this.#inboxes.set(agent.pid, opening)
    const { onSaid, onReady, onTrouble } = this.#options
    ClaudeInbox.open(folder, agent.pid, { onOutcome: () => {}, onSaid: (said) => onSaid(said, target) })
      .then((inbox) => {
        if (this.#inboxes.get(agent.pid) !== opening) return inbox.close()
        opening.inbox = inbox
        onReady()
      })
      .catch(onTrouble)
    return []
  }

  #shut(pid: number): void {
    this.#inboxes.get(pid)?.inbox?.close()
    this.#inboxes.delete(pid)
  }
}

interface Found extends Omit<Listed, 'socketPath'> {
  target: Target
}

function agentsIn({ workspaces, sessions, writers }: Around): Found[] {
  const taken = new Set<string>([daemonRecord, ...[...sessions.values()].map(({ name }) => name)])
  const found = new Map<number, Found>()
  const shared = new Set<number>()
  for (const workspace of workspaces.filter((each) => isOpenTo(each, writers))) {
    for (const { agent, host, directory, cli } of hostedAmong(workspace.sessions.all())) {
      // Claude Code writes a record of its own for each of its sessions, also for one that is no agent by itself.
      const isClaude = sessions.has(host) || cli === 'claude'
      if (agent === daemonName || isClaude || host === process.pid) continue
      const target = { workspace: workspace.name, agent }
      const before = found.get(host)?.target
      // A server that runs many conversations is not one agent's process.
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
  return writers.some((each) => each === name || mayWrite(policy, each))
}
