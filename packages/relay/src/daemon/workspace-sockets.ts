// The sockets of the daemon's workspaces. A workspace that cannot be opened because of its files has a socket too: a client that connects gets the reason, and
// can use the workspace once it was repaired.

import type { Refusal } from '@agent-relay/sdk/protocol'
import { RefusalError, refusalTextWithoutFix } from '../core/refusal-error.ts'
import { fileRefusalOf } from '../store/damage.ts'
import { ownerConnectionHandler, SocketWire } from '../wires/socket.ts'
import type { ClosingCode, OpenWorkspace } from './open-workspace.ts'

/** Opens a workspace while `work` runs; resolves to undefined if there is no workspace of this name. */
interface WorkspaceVisits {
  visit<T>(name: string, work: (opened: OpenWorkspace) => Promise<T>): Promise<T | undefined>
}

export class WorkspaceSockets {
  readonly #workspaces: WorkspaceVisits
  readonly #pathOf: (name: string) => string
  readonly #wires = new Map<string, SocketWire>()
  readonly #faults = new Map<string, Refusal>()

  constructor(workspaces: WorkspaceVisits, pathOf: (name: string) => string) {
    this.#workspaces = workspaces
    this.#pathOf = pathOf
  }

  get all(): SocketWire[] {
    return [...this.#wires.values()]
  }

  /** The names of the workspaces that cannot be opened because of their files. */
  faultyNames(): string[] {
    return [...this.#faults.keys()]
  }

  /** The refusal that says why the workspace's files cannot be opened; undefined if they can. */
  faultOf(name: string): Refusal | undefined {
    return this.#faults.get(name)
  }

  faultTexts(): string[] {
    return [...this.#faults].map(([name, fault]) => `Workspace ${name} is not open: ${refusalTextWithoutFix(fault)}`)
  }

  /** Returns the socket of an open workspace, which is created if necessary. */
  async serve(name: string): Promise<SocketWire> {
    const wire = this.#wires.get(name) ?? (await this.#listen(name))
    this.#faults.delete(name)
    return wire
  }

  /** Throws the error with which a workspace could not be opened, and remembers it if the workspace's files are the cause. */
  async failOpening(name: string, error: unknown): Promise<never> {
    const fault = fileRefusalOf(error)
    if (fault) this.#faults.set(name, fault)
    // If the workspace's folder is missing, no socket can be made in it, and the error is ignored.
    if (fault && !this.#wires.has(name)) await this.#listen(name).catch(() => {})
    throw error
  }

  /** Closes the socket of a workspace that is no longer served. */
  async close(name: string, code: ClosingCode): Promise<void> {
    const wire = this.#wires.get(name)
    this.#wires.delete(name)
    this.#faults.delete(name)
    await wire?.close(code, { workspace: name })
  }

  async #listen(name: string): Promise<SocketWire> {
    const handler = ownerConnectionHandler(async (work) => {
      const answer = await this.#workspaces.visit(name, ({ dispatch }) => work(dispatch))
      if (!answer) throw new RefusalError('workspace.removed', { workspace: name })
      return answer
    })
    const wire = await SocketWire.listen(this.#pathOf(name), handler)
    this.#wires.set(name, wire)
    return wire
  }
}
