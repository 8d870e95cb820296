// Makes links to payloads (results of completed runs). A link gives the right to read this one payload, for ten minutes, without any other credential. runs.ts
// hands links to readers; wires/api.ts serves them.

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { type Clock, isDeadlineAhead } from '../../machine/clock.ts'
import type { EntryHub } from '../hub.ts'

const linkMs = 10 * 60_000

/** Returns the address of a run's payload without a right in it, for callers that show a credential, or need none. */
export function payloadAddress(url: string, run: string): string {
  return `${url}/api/agents/${run}/payload`
}

export class PayloadLinks {
  readonly #clock: Clock
  /** The secret that signs links. It is only in memory, so every link ends with the daemon, or when the workspace is closed because nobody is connected. */
  #secret = randomBytes(32)

  constructor(clock: Clock, hub: EntryHub) {
    this.#clock = clock
    // A revoked key or token ends every payload link. Callers with valid credentials ask for a new link.
    hub.listen((entries) => {
      if (entries.some(({ facts }) => facts.some(({ type }) => endsLinks.has(type)))) this.#secret = randomBytes(32)
    })
  }

  addressWithRight(url: string, workspaceId: string, run: string): string {
    const until = this.#clock.now() + linkMs
    return `${payloadAddress(url, run)}?right=${workspaceId}.${until}.${this.#sign(run, String(until))}`
  }

  /** Whether `right`, the signed part of a link, opens the payload of this run now. */
  isValidRight(right: string, run: string): boolean {
    const [, until = '', signature = ''] = right.split('.')
    const [shown, expected] = [Buffer.from(signature), Buffer.from(this.#sign(run, until))]
    const isSigned = shown.length === expected.length && timingSafeEqual(shown, expected)
    return isSigned && isDeadlineAhead(Number(until), this.#clock.now(), linkMs)
  }

  #sign(run: string, until: string): string {
    return createHmac('sha256', this.#secret).update(`${run}.${until}`).digest('base64url')
  }
}

const endsLinks: ReadonlySet<string> = new Set(['workspace.key-issued', 'agent.tokens-revoked'])

/** Returns the id of the workspace that is named in a link's signed part. */
export function workspaceIdOfLink(right: string): string {
  return right.split('.', 1)[0] as string
}
