// Identifies the caller of a network request: its credential, the workspace that the credential belongs to, and the agent it names.

import type { IncomingHttpHeaders } from 'node:http'
import { agentNamePattern } from '@agent-relay/sdk/protocol'
import type { Dispatch } from '../broker/dispatch.ts'
import type { Door } from '../broker/sessions/standing.ts'
import { RefusalError } from '../core/refusal-error.ts'

/** The workspaces that the daemon serves, as far as network requests need to know them. A workspace at rest is closed until somebody needs it. */
export interface ServedWorkspaces {
  /** Returns the workspaces that are open, and so not at rest. */
  all(): Dispatch[]
  /** Returns the names of all workspaces, also of those that are at rest or that the daemon's start will open. */
  names(): string[]
  /** Returns one text for each workspace that cannot be opened because of its files: its name, and what is wrong with them. */
  faults(): string[]
  /** Opens the workspaces that a credential may belong to, or, without one, the workspace of this name, until the returned function is called. */
  openForCredential(credential: string | undefined, name: string | undefined): Promise<() => void>
  /** Finds a workspace by its id or its name and opens it if it is at rest. The workspace stays open until `release` is called. */
  find(which: { id: string } | { name: string }): Promise<{ dispatch: Dispatch; release(): void } | undefined>
  /**
   * Calls `find` until it finds something: again after each workspace that the daemon, which has just started, has tried to open. The daemon listens before it
   * has opened its workspaces, so what is meant may not be open yet.
   */
  searchDuringStart<T>(find: () => Promise<T | undefined>): Promise<T | undefined>
  /** Keeps a workspace from being put to rest until the returned function is called. */
  keepOpen(dispatch: Dispatch): () => void
  /** Returns the name of the workspace that a caller without a credential means. */
  defaultName(): string | undefined
}

export interface CheckedCredential {
  dispatch: Dispatch
  door: Door
  /** The workspace key that the caller has shown, which is valid. If both `key` and `token` are unset, the relay is open to everybody. */
  key?: string
  token?: string
  /** The agent that the token belongs to. */
  owner?: string
}

export interface Principal extends CheckedCredential {
  /** The agent that the caller acts as: the token's agent, or the agent that the holder of the key names. */
  agent?: string
}

/** A result that keeps its workspace open until `release` is called. */
export type Releasable<T> = T & { release(): void }

export class Callers {
  readonly #served: ServedWorkspaces
  readonly isOpen: boolean

  constructor(served: ServedWorkspaces, isOpen: boolean) {
    this.#served = served
    this.isOpen = isOpen
  }

  /** Returns the reasons why workspaces cannot be opened; only for callers who may see all workspaces. */
  faults(): string[] {
    return this.#served.faults()
  }

  /** Identifies the caller of a request, or throws the refusal. An unknown key and an unknown workspace cannot be told apart. */
  async identify(headers: IncomingHttpHeaders, url: string): Promise<Releasable<Principal>> {
    const query = queryOf(url)
    const wanted = header(headers, 'x-relay-workspace') ?? query.get('workspace') ?? undefined
    const found = await this.find(bearerTokenOf(headers), wanted)
    try {
      const named = header(headers, 'x-relay-agent') ?? query.get('agent') ?? undefined
      if (named !== undefined && !agentNamePattern.test(named))
        throw new RefusalError('input.invalid', { operation: 'X-Relay-Agent', why: `"${named}" is no agent's name` })
      if (found.owner !== undefined && named !== undefined && named !== found.owner)
        throw new RefusalError('auth.denied', { why: `the token is not one of ${named}'s.` })
      return { ...found, agent: found.owner ?? named }
    } catch (error) {
      found.release()
      throw error
    }
  }

  /** Finds and opens the workspace of a credential, which belongs to exactly one workspace. Without a credential, only an open relay answers. */
  async find(credential: string | undefined, wanted?: string): Promise<Releasable<CheckedCredential>> {
    // Without a credential, no workspace is opened, except the one of an open relay that is open to everybody.
    if (credential === undefined && !this.isOpen) throw new RefusalError('auth.required')
    const found = await this.#served.searchDuringStart(() => this.#openAndFind(credential, wanted))
    if (!found) throw new RefusalError('auth.required')
    return found
  }

  async #openAndFind(
    credential: string | undefined,
    wanted?: string,
  ): Promise<Releasable<CheckedCredential> | undefined> {
    const opened = await this.#served.openForCredential(credential, credential === undefined ? this.#home : wanted)
    try {
      const found = this.#findAmongOpen(credential, wanted)
      return found && { ...found, release: this.#served.keepOpen(found.dispatch) }
    } finally {
      opened()
    }
  }

  /** Finds a workspace by its id. Undefined if the workspace is at rest: nothing is opened for a caller who has shown no credential. */
  openById(id: string): Promise<Dispatch | undefined> {
    return this.#served.searchDuringStart(async () => this.#served.all().find(({ workspace }) => workspace.id === id))
  }

  /** Finds the workspace of a credential among those that are not at rest. */
  findOpen(credential: string | undefined, wanted?: string): CheckedCredential {
    const found = this.#findAmongOpen(credential, wanted)
    if (!found) throw new RefusalError('auth.required')
    return found
  }

  #findAmongOpen(credential: string | undefined, wanted: string | undefined): CheckedCredential | undefined {
    const all = this.#served.all().filter(({ workspace }) => wanted === undefined || workspace.name === wanted)
    if (credential === undefined) return this.#withoutCredential(all)
    for (const dispatch of all) {
      const { workspace } = dispatch
      if (workspace.credentials.isKey(credential)) return { ...this.#withDoor(dispatch), key: credential }
      const owner = workspace.credentials.agentOfToken(credential)
      if (owner !== undefined) return { ...this.#withDoor(dispatch), token: credential, owner }
    }
    return undefined
  }

  #withDoor(dispatch: Dispatch): { dispatch: Dispatch; door: Door } {
    return { dispatch, door: dispatch.daemon.roles ? 'lift' : this.isOpen ? 'open' : 'network' }
  }

  /** The name of the workspace that an open relay opens to everybody: the default one, or the only one. Undefined if there are several and no default. */
  get #home(): string | undefined {
    const [only, ...others] = this.#served.names()
    return this.#served.defaultName() ?? (others.length === 0 ? only : undefined)
  }

  /** Returns the workspace that is open to everybody. Other workspaces of this daemon require their keys, whatever the request names. */
  #withoutCredential(wanted: Dispatch[]): CheckedCredential | undefined {
    const dispatch = this.isOpen ? wanted.find(({ workspace }) => workspace.name === this.#home) : undefined
    return dispatch && this.#withDoor(dispatch)
  }
}

const bearer = /^Bearer +([\x21-\x7e]{1,200})$/i

/** Returns the credential of a request; refuses a header that holds none. */
export function bearerTokenOf({ authorization }: IncomingHttpHeaders): string | undefined {
  if (authorization === undefined) return undefined
  const credential = bearer.exec(authorization)?.[1]
  if (credential === undefined) throw new RefusalError('auth.required')
  return credential
}

function header(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

export function queryOf(url: string): URLSearchParams {
  const at = url.indexOf('?')
  return new URLSearchParams(at < 0 ? '' : url.slice(at))
}
