// The agent that a session acts as: known from the start, chosen by register_agent, or given automatically when a tool needs an agent.

import type { Profile, Registered } from './client.ts'

export type ClientInfo = { name: string; version: string } | undefined

export interface NamingOptions {
  /** Gives the agent a name that it did not choose. */
  introduce?(client: ClientInfo): Promise<void>
  /** Takes the name that the agent wants. */
  register?(profile: Profile, client: ClientInfo): Promise<Registered>
}

export class Naming {
  readonly #options: NamingOptions
  readonly #info: () => ClientInfo
  readonly #listeners: (() => void)[] = []
  #introducing: Promise<void> | undefined

  constructor(options: NamingOptions, info: () => ClientInfo) {
    this.#options = options
    this.#info = info
  }

  /** Called each time the session starts to act as an agent. */
  onNamed(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Names the agent automatically, once: a refused name is refused again in every call, which says why. */
  introduced(): Promise<void> {
    this.#introducing ??= this.#introduce()
    return this.#introducing
  }

  async register(profile: Profile): Promise<Registered> {
    const { register } = this.#options
    if (!register) throw new Error('this session has no names to give')
    // Waits for an automatic name that is on its way: it would replace the chosen one.
    await this.#introducing?.catch(() => {})
    const registered = await register(profile, this.#info())
    this.#introducing = Promise.resolve()
    this.#tell()
    return registered
  }

  async #introduce(): Promise<void> {
    await this.#options.introduce?.(this.#info())
    this.#tell()
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }
}
