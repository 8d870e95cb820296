// Opens workspaces when the daemon starts. A workspace that cannot be opened does not affect the others; one whose cluster cannot be reached is opened
// when the cluster is back.

import { type ClusterAccess, isUnreached } from './cluster-access.ts'

export interface FirstOpeningsOptions {
  open(name: string): Promise<unknown>
  cluster: ClusterAccess
  onTrouble(error: Error): void
}

export class FirstOpenings {
  readonly #options: FirstOpeningsOptions
  readonly #awaited = new Set<string>()

  constructor(options: FirstOpeningsOptions) {
    this.#options = options
  }

  /** Workspaces that are not open yet: their turn has not come, or their cluster does not answer. */
  get awaited(): string[] {
    return [...this.#awaited]
  }

  async openAll(names: Iterable<string>): Promise<void> {
    for (const name of names) this.#awaited.add(name)
    for (const name of this.awaited) await this.#open(name)
  }

  async #open(name: string): Promise<void> {
    const { open, cluster, onTrouble } = this.#options
    const isOver = () => this.#awaited.delete(name)
    try {
      await open(name)
      isOver()
    } catch (error) {
      onTrouble(error as Error)
      if (!isUnreached(error)) return void isOver()
      const opened = cluster.isBack().then(async (isBack) => void (isBack && (await open(name))))
      void opened.catch(onTrouble).finally(isOver)
    }
  }
}
