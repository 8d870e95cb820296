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
  readonly #awaited = new Set<string>()
  #endAttempts: () => void = () => {}
  /** Resolves when each workspace was opened or could not be opened; unset from then on. */
  attempts: Promise<void> | undefined = new Promise((resolve) => {
    this.#endAttempts = resolve
  })

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
    this.attempts = undefined
    this.#endAttempts()
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
