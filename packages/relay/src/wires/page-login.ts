// The login of a person's browser: a code that works once is exchanged for a cookie that this daemon signed. The page itself is in page.ts.

import { createHmac, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import type { Dispatch } from '../broker/dispatch.ts'
import { hashOf } from '../broker/sessions/credentials.ts'
import { RefusalError } from '../core/refusal-error.ts'
import { type Clock, isAhead } from '../machine/clock.ts'
import type { Held, ServedWorkspaces } from './callers.ts'

export interface PageLoginOptions {
  served: Pick<ServedWorkspaces, 'named' | 'names'>
  clock: Clock
  /** The file of the secret that signs the cookies; kept, so that a page outlives a restart of the daemon. */
  secretPath: string
  /** The key of a workspace, from the owner's file. */
  keyOf(workspaceId: string): string | undefined
  /** The person's name. */
  human: string
  /** The command that prints a link. */
  linkCommand?: string
}

/** A workspace as its owner's browser may use it. */
export interface PageAccess {
  dispatch: Dispatch
  key: string
  human: string
  /** The workspaces that the same cookie opens. */
  workspaces: string[]
  /** `workspaces` is all that this daemon has. */
  isAll: boolean
  /**
   * False once the login has ended: by a new key of the workspace that the cookie was made for, that workspace's removal, a logout, or the cookie's
   * time, whatever workspace the page shows.
   */
  isGood(): boolean
}

/** The workspaces that a code, and then its cookie, opens: one workspace, or with it every other one of this daemon. */
interface Scope {
  workspaceId: string
  isAll: boolean
}

const codeMs = 5 * 60_000
const cookieMs = 30 * 24 * 3_600_000
/** Wrong codes after which all open codes end. A code has 40 bits; somebody who tries this many is guessing. */
const wrongCodesMax = 20
/** Prefix of the random part of a cookie that opens every workspace; no random part can begin with it. */
const allMark = '*'
/** Letters and digits of a code, without letters that look like digits. */
const codeLetters = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ'

export class PageLogin {
  readonly #options: PageLoginOptions
  /** Open codes by their hash; the time is the steady clock's. */
  readonly #codes = new Map<string, Scope & { until: number; keyHash: string | undefined }>()
  #wrongCodes = 0
  #secret: Buffer

  constructor(options: PageLoginOptions) {
    this.#options = options
    this.#secret = this.#readSecret() ?? this.#newSecret()
  }

  denied(): RefusalError {
    return new RefusalError('page.login', { command: this.#options.linkCommand ?? 'agent-relay dashboard' })
  }

  newCode(scope: Scope): { code: string; until: number } {
    const letters = Array.from({ length: 8 }, () => codeLetters[randomInt(codeLetters.length)])
    const code = `${letters.slice(0, 4).join('')}-${letters.slice(4).join('')}`
    const { clock } = this.#options
    const keyHash = this.#keyHash(scope.workspaceId)
    this.#codes.set(hashOf(code), { ...scope, until: clock.steady() + codeMs, keyHash })
    return { code, until: clock.now() + codeMs }
  }

  /** Exchanges a code for a cookie's value, once; undefined for a code that is wrong, used or old, or older than the key of its workspace. */
  redeem(code: string): { value: string; seconds: number } | undefined {
    const { clock } = this.#options
    const now = clock.steady()
    for (const [hash, { until }] of this.#codes) if (until <= now) this.#codes.delete(hash)
    const hash = hashOf(code.toUpperCase())
    const found = this.#codes.get(hash)
    if (!found) {
      if (++this.#wrongCodes < wrongCodesMax) return undefined
      // Counting starts again: else one wrong code, from a tab with an old link say, would end every later one.
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

  /** The access of the request's cookie to the workspace of this name, else to the one that the cookie was made for. */
  async find(request: IncomingMessage, name?: string): Promise<Held<PageAccess> | undefined> {
    const value = cookieOf(request, this.cookieName(request)) ?? ''
    const isGood = () => this.#isGood(value)
    if (!isGood()) return undefined
    const [workspaceId = '', , nonce = ''] = value.split('.')
    const isAll = nonce.startsWith(allMark)
    const access = await this.#access(isAll && name !== undefined ? { name } : { id: workspaceId })
    if (!access) return undefined
    const own = access.dispatch.workspace.name
    if (name === undefined || name === own)
      return { ...access, workspaces: isAll ? this.#options.served.names().sort() : [own], isAll, isGood }
    access.release()
    return undefined
  }

  #isGood(value: string): boolean {
    const [workspaceId = '', until = '', nonce = '', signature = ''] = value.split('.')
    const expected = this.#sign(`${workspaceId}.${until}.${nonce}`, workspaceId)
    const isOver = !isAhead(Number(until), this.#options.clock.now(), cookieMs)
    return expected !== undefined && isSame(signature, expected) && !isOver
  }

  async #access(
    which: { id: string } | { name: string },
  ): Promise<Held<Omit<PageAccess, 'workspaces' | 'isAll' | 'isGood'>> | undefined> {
    const { served, keyOf, human } = this.#options
    const found = await served.named(which)
    const key = found && keyOf(found.dispatch.workspace.id)
    if (found && key !== undefined && found.dispatch.workspace.credentials.isKey(key)) return { ...found, key, human }
    found?.release()
    return undefined
  }

  /** The cookie's name has the port in it. Cookies ignore ports: two daemons on one machine must not overwrite each other's. */
  cookieName({ socket }: IncomingMessage): string {
    return `agent_relay_${socket.localPort}`
  }

  /** Ends all codes and cookies. */
  logoutAll(): void {
    this.#codes.clear()
    this.#secret = this.#newSecret()
  }

  /** Signs with the hash of the workspace's key, so that a cookie ends when the key is replaced. A workspace that was removed has none: undefined. */
  #sign(content: string, workspaceId: string): string | undefined {
    const keyHash = this.#keyHash(workspaceId)
    if (keyHash === undefined) return undefined
    return createHmac('sha256', this.#secret).update(`${content}.${keyHash}`).digest('base64url')
  }

  #keyHash(workspaceId: string): string | undefined {
    const key = this.#options.keyOf(workspaceId)
    return key === undefined ? undefined : hashOf(key)
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

/** Whether the request was sent by a page of this address. A page of another one, even an allowed one, cannot use the cookie. */
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
