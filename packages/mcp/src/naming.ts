// The agent that a session acts as: known from the start, chosen by register_agent, or given automatically when a tool needs an agent.

import type { RegisteredAgent, RegistrationProfile } from './client.ts'

export type ClientInfo = { name: string; version: string } | undefined

export interface AgentNamingOptions {
  /** Gives the agent a name that it did not choose. */
  introduce?(client: ClientInfo): Promise<void>
  /** Takes the name that the agent wants. */
  register?(profile: RegistrationProfile, client: ClientInfo): Promise<RegisteredAgent>
}

export class AgentNaming {
  readonly #options: AgentNamingOptions
  readonly #clientInfo: () => ClientInfo
  readonly #listeners: (() => void)[] = []
  #automaticNaming: Promise<void> | undefined

  constructor(options: AgentNamingOptions, info: () => ClientInfo) {
    this.#options = options
    this.#clientInfo = info
  }

  /** Called each time the session starts to act as an agent. */
  onNamed(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Names the agent automatically, once: a refused name is refused again in every call, which says why. */
  ensureNamed(): Promise<void> {
    this.#automaticNaming ??= this.#nameAutomatically()
    return this.#automaticNaming
  }

  async register(profile: RegistrationProfile): Promise<RegisteredAgent> {
    const { register } = this.#options
    if (!register) throw new Error('this session has no names to give')
    // Waits for an automatic name that is on its way: it would replace the chosen one.
    await this.#automaticNaming?.catch(() => {})
    const registered = await register(profile, this.#clientInfo())
    this.#automaticNaming = Promise.resolve()
    this.#notifyListeners()
    return registered
  }

  async #nameAutomatically(): Promise<void> {
    await this.#options.introduce?.(this.#clientInfo())
    this.#notifyListeners()
  }

  #notifyListeners(): void {
    for (const listener of this.#listeners) listener()
  }
}
