// Which of our agents stand in Claude Code's own list, for its sessions to write to, and where that arrives: those with a process of their own by its
// number, all others behind one record of the daemon.

import { dirname } from 'node:path'
import { homeWorkspace } from '@agent-relay/sdk/internal/discover'
import { daemonName } from '@agent-relay/sdk/protocol'
import { hostedAmong } from '../broker/sessions/session.ts'
import type { Workspace } from '../broker/workspace.ts'
import { mayWrite } from '../core/workspaces.ts'
import { ClaudeInbox, type SaidToUs } from '../supervisor/claude/inbox.ts'
import { ClaudeRecords, type Listed } from '../supervisor/claude/records.ts'
import type { ClaudeSession } from '../supervisor/claude/registry.ts'

/** The record of the daemon: who writes to it names an agent at the start of the text. */
const daemonRecord = 'relay'
/** Agents that stand there at once. */
const listedMax = 100

/** Whom an own record is for. */
export interface Target {
  workspace: string
  agent: string
}

export interface ClaudeListOptions {
  home: string
  /** The person has agreed. */
  isAllowed(): boolean
  onSaid(said: SaidToUs, to: Target): void
  /** Somebody can be listed who could not be before. */
  onReady(): void
  onTrouble(error: Error): void
}

/** As it is at this moment. */
export interface Around {
  workspaces: readonly Workspace[]
  /** The sessions of Claude Code, and in which workspaces they are agents. */
  sessions: ReadonlyMap<number, ClaudeSession>
  writers: readonly string[]
  /** Where the daemon itself is written to. */
  inbox: ClaudeInbox | undefined
}

export class ClaudeList {
  readonly #options: ClaudeListOptions
  readonly #records: ClaudeRecords
  /** By process number. */
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

  /** Nothing before it is listened to. */
  #listed({ target, ...agent }: Found, folder: string): Listed[] {
    const known = this.#inboxes.get(agent.pid)
    if (known?.target.agent === target.agent && known.target.workspace === target.workspace)
      return known.inbox ? [{ ...agent, socketPath: known.inbox.path }] : []
    this.#shut(agent.pid)
    const opening: { inbox?: ClaudeInbox; target: Target } = { target }
    this.#inboxes.set(agent.pid, opening)
    const { onSaid, onReady, onTrouble } = this.#options
    ClaudeInbox.open(folder, agent.pid, { onFate: () => {}, onSaid: (said) => onSaid(said, target) })
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
      // Claude Code writes its own record, also for a session that is no agent by itself.
      const isClaude = sessions.has(host) || cli === 'claude'
      if (agent === daemonName || isClaude || host === process.pid) continue
      const target = { workspace: workspace.name, agent }
      const before = found.get(host)?.target
      // A server that runs many conversations is no one agent's process.
      if (before && (before.agent !== agent || before.workspace !== workspace.name)) shared.add(host)
      const name = workspace.name === homeWorkspace ? agent : `${workspace.name}.${agent}`
      const isBusy = workspace.workers.stateOf(agent)?.status === 'busy'
      found.set(host, { pid: host, name, directory: directory ?? process.cwd(), isBusy, target })
    }
  }
  const own = [...found.values()].filter(({ pid, name }) => !shared.has(pid) && !taken.has(name) && taken.add(name))
  return own.slice(0, listedMax)
}

/** One in which a session is an agent, or whose policy lets such a one write to it. */
function isOpenTo({ name, store }: Workspace, writers: readonly string[]): boolean {
  const policy = store.view.policy()
  return writers.some((each) => each === name || mayWrite(policy, each))
}
