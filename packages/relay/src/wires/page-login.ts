// The login of a person's browser to the web page: a code that works once is exchanged for a cookie that this daemon signed. The page itself is in page.ts.

import { createHmac, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import type { Dispatch } from '../broker/dispatch.ts'
import { hashSecret } from '../broker/sessions/credentials.ts'
import { RefusalError } from '../core/refusal-error.ts'
import { type Clock, isDeadlineAhead } from '../machine/clock.ts'
import type { Releasable, ServedWorkspaces } from './callers.ts'

export interface PageLoginOptions {
  served: Pick<ServedWorkspaces, 'find' | 'names'>
  clock: Clock
  /** The file of the secret that signs the cookies; the secret is kept, so that a login outlives a restart of the daemon. */
  secretPath: string
  /** Returns the key of a workspace from the owner's file of keys. */
  keyOf(workspaceId: string): string | undefined
  /** The name under which the person at the browser acts. */
  human: string
  /** The command that prints a link to the page. Unset if that is `agent-relay dashboard`. */
  linkCommand?: string
}

/** A workspace to which the owner's browser is logged in. */
export interface PageAccess {
  dispatch: Dispatch
  key: string
  human: string
  /** The names of all workspaces that the same cookie opens. */
  workspaces: string[]
  /** Whether `workspaces` are all workspaces of this daemon. */
  isAll: boolean
  /**
   * Whether the login is still valid. It ends by a new key of the workspace that the cookie was made for, that workspace's removal, a logout, or the cookie's
   * time, whichever workspace the page shows.
   */
  isValid(): boolean
}

/** The workspaces that a login code, and then its cookie, opens: this workspace alone, or all workspaces of this daemon. */
interface LoginScope {
  workspaceId: string
  isAll: boolean
}

const codeMs = 5 * 60_000
const cookieMs = 30 * 24 * 3_600_000
/** Number of wrong login codes after which all open codes end. A code has 40 bits; somebody who tries this many is guessing. */
const wrongCodesMax = 20
/** Prefix of the random part of a cookie that opens every workspace; no random part can begin with it. */
const allMark = '*'
/** Letters and digits of a login code, without letters that look like digits. */
const codeLetters = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ'

export class PageLogin {
  readonly #options: PageLoginOptions
  /** Open login codes by their hash, each with the time of its end on the monotonic clock. */
  readonly #codes = new Map<string, LoginScope & { until: number; keyHash: string | undefined }>()
  #wrongCodes = 0
  #secret: Buffer

  constructor(options: PageLoginOptions) {
    this.#options = options
    this.#secret = this.#readSecret() ?? this.#newSecret()
  }

  loginRefusal(): RefusalError {
    return new RefusalError('page.login', { command: this.#options.linkCommand ?? 'agent-relay dashboard' })
  }

  newCode(scope: LoginScope): { code: string; until: number } {
    const letters = Array.from({ length: 8 }, () => codeLetters[randomInt(codeLetters.length)])
    const code = `${letters.slice(0, 4).join('')}-${letters.slice(4).join('')}`
    const { clock } = this.#options
    const keyHash = this.#keyHash(scope.workspaceId)
    this.#codes.set(hashSecret(code), { ...scope, until: clock.steady() + codeMs, keyHash })
    return { code, until: clock.now() + codeMs }
  }

  /** Exchanges a login code for a cookie's value, once. Undefined for a code that is wrong, used or old, or older than the key of its workspace. */
  redeem(code: string): { value: string; seconds: number } | undefined {
    const { clock } = this.#options
    const now = clock.steady()
    for (const [hash, { until }] of this.#codes) if (until <= now) this.#codes.delete(hash)
    const hash = hashSecret(code.toUpperCase())
    const found = this.#codes.get(hash)
    if (!found) {
      if (++this.#wrongCodes < wrongCodesMax) return undefined
      // Counting starts again: otherwise a single further wrong code, for example from a tab with an old link, would end all later codes.
      this.#wrongCodes = 0
      this.#codes.clear()
      return undefined
    }
    this.#codes.delete(hash)
    this.#wrongCodes = 0
    const { workspaceId, isAll, keyHash } = found
    if (keyHash !== this.#keyHash(workspaceId)) return undefined
    const nonce = `${isAll ? allMark : ''}${randomBytes(12).toString('base64url')}`
    const content = `${workspaceId}.${clock.now() + cookieMs}.${nonce}`
    const signature = this.#sign(content, workspaceId)
    return signature === undefined ? undefined : { value: `${content}.${signature}`, seconds: cookieMs / 1000 }
  }

  /** Finds the workspace of this name, or the one that the cookie was made for, if the request's cookie opens it. */
  async find(request: IncomingMessage, name?: string): Promise<Releasable<PageAccess> | undefined> {
    const value = cookieOf(request, this.cookieName(request)) ?? ''
    const isGood = () => this.#isValid(value)
    if (!isGood()) return undefined
    const [workspaceId = '', , nonce = ''] = value.split('.')
    const isAll = nonce.startsWith(allMark)
    const access = await this.#access(isAll && name !== undefined ? { name } : { id: workspaceId })
    if (!access) return undefined
    const own = access.dispatch.workspace.name
    if (name === undefined || name === own)
      return { ...access, workspaces: isAll ? this.#options.served.names().sort() : [own], isAll, isValid: isGood }
    access.release()
    return undefined
  }

  #isValid(value: string): boolean {
    const [workspaceId = '', until = '', nonce = '', signature = ''] = value.split('.')
    const expected = this.#sign(`${workspaceId}.${until}.${nonce}`, workspaceId)
    const isOver = !isDeadlineAhead(Number(until), this.#options.clock.now(), cookieMs)
    return expected !== undefined && isSame(signature, expected) && !isOver
  }

  async #access(
    which: { id: string } | { name: string },
  ): Promise<Releasable<Omit<PageAccess, 'workspaces' | 'isAll' | 'isValid'>> | undefined> {
    const { served, keyOf, human } = this.#options
    const found = await served.find(which)
    const key = found && keyOf(found.dispatch.workspace.id)
    if (found && key !== undefined && found.dispatch.workspace.credentials.isKey(key)) return { ...found, key, human }
    found?.release()
    return undefined
  }

  /**
   * Returns the cookie's name, which contains the port. Browsers share cookies between ports, and two daemons on one machine must not overwrite each other's
   * cookie.
   */
  cookieName({ socket }: IncomingMessage): string {
    return `agent_relay_${socket.localPort}`
  }

  /** Ends all login codes and cookies. */
  logoutAll(): void {
    this.#codes.clear()
    this.#secret = this.#newSecret()
  }

  /**
   * Signs a cookie's content with the hash of the workspace's key, so that a cookie ends when the key is replaced. Undefined if the workspace was removed and
   * so has no key.
   */
  #sign(content: string, workspaceId: string): string | undefined {
    const keyHash = this.#keyHash(workspaceId)
    if (keyHash === undefined) return undefined
    return createHmac('sha256', this.#secret).update(`${content}.${keyHash}`).digest('base64url')
  }

  #keyHash(workspaceId: string): string | undefined {
    const key = this.#options.keyOf(workspaceId)
    return key === undefined ? undefined : hashSecret(key)
  }

  #readSecret(): Buffer | undefined {
    try {
      const secret = readFileSync(this.#options.secretPath)
      return secret.length === 32 ? secret : undefined
    } catch {
      return undefined
    }
  }

  #newSecret(): Buffer {
    const secret = randomBytes(32)
    writeFileSync(this.#options.secretPath, secret, { mode: 0o600 })
    return secret
  }
}

/** Whether the request was sent by a page of this address. A page of another address, even an allowed one, cannot use the cookie. */
export function isOwnPage({ headers }: IncomingMessage): boolean {
  return headers.origin === `http://${headers.host}`
}

function cookieOf({ headers }: IncomingMessage, name: string): string | undefined {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim())
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1)
}

function isSame(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
