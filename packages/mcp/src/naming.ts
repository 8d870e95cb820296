// The agent that a session acts as: known from the start, chosen by register_agent, or given automatically when a tool needs an agent.

import type { RegisteredAgent, RegistrationProfile } from './client.ts'

export type ClientInfo = { name: string; version: string } | undefined

export interface AgentNamingOptions {
  /** Gives the session an agent with an automatic name. */
  introduce?(client: ClientInfo): Promise<void>
  /** Gives the session an agent with the name that the model asks for. */
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

  /** Gives the session an automatic name, once. If the name was refused, every later call fails with the same refusal, which says why. */
  ensureNamed(): Promise<void> {
    this.#automaticNaming ??= this.#nameAutomatically()
    return this.#automaticNaming
  }

  async register(profile: RegistrationProfile): Promise<RegisteredAgent> {
    const { register } = this.#options
    if (!register) throw new Error('This session cannot register an agent.')
    // Waits until automatic naming, if under way, has ended: otherwise the automatic name would replace the chosen one.
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
