// Opens workspaces when the daemon starts. A workspace that cannot be opened does not affect the others; one whose cluster cannot be reached is opened
// when the cluster is back.

import { type ClusterAccess, isClusterUnreachable } from './cluster-access.ts'

export interface StartupOpeningsOptions {
  open(name: string): Promise<unknown>
  cluster: ClusterAccess
  onTrouble(error: Error): void
}

export class StartupOpenings {
  readonly #options: StartupOpeningsOptions
  readonly #awaited = new Set<string>()

  constructor(options: StartupOpeningsOptions) {
    this.#options = options
  }

  /** Names of the workspaces that are not open yet, because others are opened first or their cluster does not answer. */
  get pendingNames(): string[] {
    return [...this.#awaited]
  }

  async openAll(names: Iterable<string>): Promise<void> {
    for (const name of names) this.#awaited.add(name)
    for (const name of this.pendingNames) await this.#open(name)
  }

  async #open(name: string): Promise<void> {
    const { open, cluster, onTrouble } = this.#options
    const isOver = () => this.#awaited.delete(name)
    try {
      await open(name)
      isOver()
    } catch (error) {
      onTrouble(error as Error)
      if (!isClusterUnreachable(error)) return void isOver()
      const opened = cluster.waitUntilBack().then(async (isBack) => void (isBack && (await open(name))))
      void opened.catch(onTrouble).finally(isOver)
    }
  }
}
