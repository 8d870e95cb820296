// How a person's browser comes in: a code that works once, for a cookie that this daemon signed. The page itself is page.ts's affair.

import { createHmac, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { hashOf } from '../broker/credentials.ts'
import type { Dispatch } from '../broker/dispatch.ts'
import type { Clock } from '../clock.ts'
import type { Callers, Worlds } from './callers.ts'

export interface PageLoginOptions {
  worlds: Worlds
  clock: Clock
  /** Signs the cookies. Kept, so that a page outlives a restart of the daemon. */
  secretPath: string
  /** The key of a workspace, from the owner's file. */
  keyOf(workspaceId: string): string | undefined
  /** What the person is called. */
  human: string
}

/** A workspace as its owner's browser may use it. */
export interface PageEntry {
  dispatch: Dispatch
  key: string
  human: string
}

const codeMs = 5 * 60_000
const cookieMs = 30 * 24 * 3_600_000
/** A code is 40 bits; somebody who tries this many is guessing, and the codes that are out end. */
const wrongCodesMax = 20
/** Without letters that look like digits. */
const codeLetters = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ'

export class PageLogin {
  readonly #options: PageLoginOptions
  /** By the code's hash. */
  readonly #codes = new Map<string, { workspaceId: string; until: number }>()
  #wrongCodes = 0
  #secret: Buffer

  constructor(options: PageLoginOptions) {
    this.#options = options
    this.#secret = this.#readSecret() ?? this.#newSecret()
  }

  newCode(workspaceId: string): { code: string; until: number } {
    const letters = Array.from({ length: 8 }, () => codeLetters[randomInt(codeLetters.length)])
    const code = `${letters.slice(0, 4).join('')}-${letters.slice(4).join('')}`
    const until = this.#options.clock.now() + codeMs
    this.#codes.set(hashOf(code), { workspaceId, until })
    return { code, until }
  }

  /** The cookie's value, once; undefined for a code that is wrong, used or old. */
  redeem(code: string): { value: string; seconds: number } | undefined {
    const now = this.#options.clock.now()
    for (const [hash, { until }] of this.#codes) if (until <= now) this.#codes.delete(hash)
    const hash = hashOf(code.toUpperCase())
    const found = this.#codes.get(hash)
    if (!found) {
      if (++this.#wrongCodes < wrongCodesMax) return undefined
      // Counted anew: else one wrong code, from a tab with an old link say, would end every later one.
      this.#wrongCodes = 0
      this.#codes.clear()
      return undefined
    }
    this.#codes.delete(hash)
    this.#wrongCodes = 0
    const content = `${found.workspaceId}.${now + cookieMs}.${randomBytes(12).toString('base64url')}`
    return { value: `${content}.${this.#sign(content, found.workspaceId)}`, seconds: cookieMs / 1000 }
  }

  /** Whom the request's cookie stands for. A new key, a logout and its time each end it. */
  find(request: IncomingMessage): PageEntry | undefined {
    const value = cookieOf(request, this.cookieName(request))
    const [workspaceId = '', until = '', nonce = '', signature = ''] = value?.split('.') ?? []
    const expected = this.#sign(`${workspaceId}.${until}.${nonce}`, workspaceId)
    if (!isSame(signature, expected) || Number(until) <= this.#options.clock.now()) return undefined
    return this.entry(workspaceId)
  }

  entry(workspaceId: string): PageEntry | undefined {
    const { worlds, keyOf, human } = this.#options
    const dispatch = worlds.all().find(({ workspace }) => workspace.id === workspaceId)
    const key = keyOf(workspaceId)
    return dispatch && key !== undefined && dispatch.workspace.isKey(key) ? { dispatch, key, human } : undefined
  }

  /** Cookies know no ports: two daemons on one machine must not take each other's away. */
  cookieName({ socket }: IncomingMessage): string {
    return `agent_relay_${socket.localPort}`
  }

  /** All codes and cookies end. */
  logoutAll(): void {
    this.#codes.clear()
    this.#secret = this.#newSecret()
  }

  /** With the hash of the key in it, so that a cookie ends when the key is replaced. */
  #sign(content: string, workspaceId: string): string {
    const key = this.#options.keyOf(workspaceId) ?? ''
    return createHmac('sha256', this.#secret)
      .update(`${content}.${hashOf(key)}`)
      .digest('base64url')
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

/** By the cookie; on an open relay without one, for the workspace that a caller without a credential means. */
export function entryOf(request: IncomingMessage, login: PageLogin, callers: Callers): PageEntry | undefined {
  const byCookie = login.find(request)
  return byCookie ?? (callers.isOpen ? login.entry(callers.find(undefined).dispatch.workspace.id) : undefined)
}

/** Sent by a page of this very address; a page of another one, even an allowed one, does not come in by the cookie. */
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
