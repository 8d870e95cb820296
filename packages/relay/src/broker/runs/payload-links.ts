// The address of a payload, with a right of its own in it: to read this one payload, for ten minutes, without any other credential. Whoever may
// read the payload is handed such an address (runs.ts); the route that takes it is in wires/api.ts.

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { type Clock, isAhead } from '../../machine/clock.ts'
import type { Hub } from '../hub.ts'

const linkMs = 10 * 60_000

/** Of a payload, for whoever shows a credential there, or where none is asked for. */
export function bareAddress(url: string, run: string): string {
  return `${url}/api/agents/${run}/payload`
}

export class PayloadLinks {
  readonly #clock: Clock
  /** In memory alone: every link ends with the daemon, and when the workspace is put to rest, which is when nobody is there. */
  #secret = randomBytes(32)

  constructor(clock: Clock, hub: Hub) {
    this.#clock = clock
    // Nobody whose key or token was taken away keeps a link. The others ask for a new one.
    hub.listen((entries) => {
      if (entries.some(({ facts }) => facts.some(({ type }) => endsLinks.has(type)))) this.#secret = randomBytes(32)
    })
  }

  address(url: string, workspaceId: string, run: string): string {
    const until = this.#clock.now() + linkMs
    return `${bareAddress(url, run)}?right=${workspaceId}.${until}.${this.#sign(run, String(until))}`
  }

  /** Is `right` one for the payload of this run, and still valid? */
  isRight(right: string, run: string): boolean {
    const [, until = '', signature = ''] = right.split('.')
    const [shown, expected] = [Buffer.from(signature), Buffer.from(this.#sign(run, until))]
    const isSigned = shown.length === expected.length && timingSafeEqual(shown, expected)
    return isSigned && isAhead(Number(until), this.#clock.now(), linkMs)
  }

  #sign(run: string, until: string): string {
    return createHmac('sha256', this.#secret).update(`${run}.${until}`).digest('base64url')
  }
}

const endsLinks: ReadonlySet<string> = new Set(['workspace.key-issued', 'agent.tokens-revoked'])

/** Which workspace a right says it is for. */
export function workspaceOfRight(right: string): string {
  return right.split('.', 1)[0] as string
}
