// Time in the simulator: events wait in a queue, and the next one happens when all consequences of the last one have come to rest.

import type { Alarm, Clock } from '../../../packages/relay/src/machine/clock.ts'

interface Event {
  at: number
  order: number
  work(): void
  /** Whose it is: while they sleep, it waits. */
  owner?: object
}

/** What one event sets off takes some few turns; whoever takes so many waits for something that no event brings. */
const turnsMax = 1_000

export class Timeline {
  now: number
  readonly #start: number
  readonly #events: Event[] = []
  #orders = 0
  readonly #asleep = new Map<object, number>()

  constructor(start: number) {
    this.now = start
    this.#start = start
  }

  after(ms: number, work: () => void, owner?: object): Alarm {
    const event = { at: this.now + ms, order: this.#orders++, work, owner }
    this.#events.push(event)
    return { cancel: () => this.#take(event) }
  }

  /** Resolves after this time. */
  wait(ms: number, owner?: object): Promise<void> {
    return new Promise((resolve) => void this.after(ms, resolve, owner))
  }

  clockOf(owner: object, aheadMs = 0): Clock {
    return {
      now: () => this.now + aheadMs,
      steady: () => this.now - this.#start,
      after: (ms, work) => this.after(ms, work, owner),
    }
  }

  /** Nothing happens to the owner for so long: it is stopped, and later goes on as if nothing had been. */
  sleep(owner: object, ms: number): void {
    this.#asleep.set(owner, this.now + ms)
  }

  /** All that happens in the next so many milliseconds. */
  async pass(ms: number): Promise<void> {
    const until = this.now + ms
    for (;;) {
      await settled()
      const next = this.#next(until)
      if (!next) break
      this.now = Math.max(this.now, next.at)
      next.work()
    }
    this.now = until
  }

  #next(until: number): Event | undefined {
    for (;;) {
      let first: Event | undefined
      for (const event of this.#events)
        if (!first || event.at < first.at || (event.at === first.at && event.order < first.order)) first = event
      if (!first || first.at > until) return undefined
      const wakesAt = first.owner === undefined ? undefined : this.#asleep.get(first.owner)
      if (wakesAt === undefined || wakesAt <= first.at) {
        this.#take(first)
        return first
      }
      first.at = wakesAt
    }
  }

  #take(event: Event): void {
    const place = this.#events.indexOf(event)
    if (place >= 0) this.#events.splice(place, 1)
  }
}

/** Promises and commands that share a turn of the event loop have been dealt with. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < turnsMax; turns++) {
    await new Promise((resolve) => void setImmediate(resolve))
    if (!process.getActiveResourcesInfo().includes('Immediate')) return
  }
  throw new Error(`the machines do not come to rest within ${turnsMax} turns of the event loop`)
}
