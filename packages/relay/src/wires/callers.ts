// Whom a request over the network speaks for: the credential it shows, the workspace that belongs to it, and the agent it names.

import type { IncomingHttpHeaders } from 'node:http'
import { agentNamePattern } from '@agent-relay/sdk/protocol'
import type { Dispatch } from '../broker/dispatch.ts'
import { RefusalError } from '../refusal-error.ts'

/** The open workspaces, as far as a wire needs to know them. */
export interface Worlds {
  all(): Dispatch[]
  /** The one that a caller without a credential means. */
  home(): string | undefined
}

export interface Credential {
  dispatch: Dispatch
  /** Shown and found to be valid; with neither, the relay is open. */
  key?: string
  token?: string
  /** The token's own agent. */
  owner?: string
}

export interface Principal extends Credential {
  /** The agent it acts as: the token's, or the one that the key's holder names. */
  agent?: string
}

export class Callers {
  readonly #worlds: Worlds
  readonly isOpen: boolean

  constructor(worlds: Worlds, isOpen: boolean) {
    this.#worlds = worlds
    this.isOpen = isOpen
  }

  /** Throws what is to be answered. An unknown key and an unknown workspace cannot be told apart. */
  identify(headers: IncomingHttpHeaders, url: string): Principal {
    const wanted = header(headers, 'x-relay-workspace') ?? queryOf(url).get('workspace') ?? undefined
    const found = this.find(bearerOf(headers), wanted)
    const named = header(headers, 'x-relay-agent')
    if (named !== undefined && !agentNamePattern.test(named))
      throw new RefusalError('input.invalid', { operation: 'X-Relay-Agent', why: `"${named}" is no agent's name` })
    if (found.owner !== undefined && named !== undefined && named !== found.owner)
      throw new RefusalError('auth.denied', { why: `the token is not one of ${named}'s.` })
    return { ...found, agent: found.owner ?? named }
  }

  /** A credential belongs to exactly one workspace; without one, only an open relay answers. */
  find(credential: string | undefined, wanted?: string): Credential {
    const all = this.#worlds.all().filter(({ workspace }) => wanted === undefined || workspace.name === wanted)
    if (credential === undefined) return { dispatch: this.#withoutCredential(all, wanted) }
    for (const dispatch of all) {
      const { workspace } = dispatch
      if (workspace.isKey(credential)) return { dispatch, key: credential }
      const owner = workspace.agentOfToken(credential)
      if (owner !== undefined) return { dispatch, token: credential, owner }
    }
    throw new RefusalError('auth.required')
  }

  #withoutCredential(all: Dispatch[], wanted: string | undefined): Dispatch {
    const home = wanted ?? this.#worlds.home()
    const dispatch = home === undefined ? all[0] : all.find(({ workspace }) => workspace.name === home)
    const isClear = home !== undefined || all.length === 1
    if (!this.isOpen || !dispatch || !isClear) throw new RefusalError('auth.required')
    return dispatch
  }
}

const bearer = /^Bearer +([\x21-\x7e]{1,200})$/i

function bearerOf({ authorization }: IncomingHttpHeaders): string | undefined {
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
