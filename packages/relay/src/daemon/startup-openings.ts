// Opens workspaces when the daemon starts. If one cannot be opened, the others are. If the cluster of one cannot be reached, it is opened when the cluster
// answers.

import { type ClusterAccess, isClusterUnreachable } from './cluster-access.ts'

export interface StartupOpeningsOptions {
  open(name: string): Promise<unknown>
  cluster: ClusterAccess
  onTrouble(error: Error): void
}

export class StartupOpenings {
  readonly #options: StartupOpeningsOptions
  readonly #untried = new Set<string>()
  readonly #awaitingCluster = new Set<string>()
  #tellNext: () => void = () => {}
  /** Resolves after the next attempt to open a workspace. */
  #next = this.#nextAttempt()

  constructor(options: StartupOpeningsOptions) {
    this.#options = options
  }

  /** Names the workspaces that `openAll` will open. */
  announce(names: Iterable<string>): void {
    for (const name of names) this.#untried.add(name)
  }

  /** Names of the workspaces that this start has not tried to open yet. */
  get untriedNames(): string[] {
    return [...this.#untried]
  }

  /** Names of the workspaces that are not open yet, because others are opened first or their cluster does not answer. */
  get pendingNames(): string[] {
    return [...this.#untried, ...this.#awaitingCluster]
  }

  async openAll(): Promise<void> {
    for (const name of this.untriedNames) {
      await this.#open(name)
      this.#untried.delete(name)
      this.#tellNext()
      this.#next = this.#nextAttempt()
    }
  }

  /** Calls `find` again after each workspace that was tried meanwhile, until it finds something or no workspace is left to try. */
  async search<T>(find: () => Promise<T | undefined>): Promise<T | undefined> {
    for (;;) {
      const [next, isLast] = [this.#next, this.#untried.size === 0]
      const found = await find()
      if (found !== undefined || isLast) return found
      await next
    }
  }

  #nextAttempt(): Promise<void> {
    return new Promise((resolve) => {
      this.#tellNext = resolve
    })
  }

  async #open(name: string): Promise<void> {
    const { open, cluster, onTrouble } = this.#options
    try {
      await open(name)
    } catch (error) {
      onTrouble(error as Error)
      if (!isClusterUnreachable(error)) return
      this.#awaitingCluster.add(name)
      const opened = cluster.waitUntilBack().then(async (isBack) => void (isBack && (await open(name))))
      void opened.catch(onTrouble).finally(() => this.#awaitingCluster.delete(name))
    }
  }
}
