// The history of a trial: the messages that its clients sent and were shown, and the rules that these and the stored messages must obey together.

import type { Trial } from './processes.ts'

export interface RecordedSend {
  from: string
  to: string
  /** The message's number among those from this sender to this recipient. It is part of the message's body. */
  n: number
  outcome: 'unknown' | 'acked' | 'refused'
}

export interface RecordedDelivery {
  by: string
  from: string
  n: number
}

export const messageBody = (from: string, to: string, n: number, padding = ''): string =>
  `${from} ${to} ${n} ${padding}`
export const messageKey = ({ from, to, n }: { from: string; to: string; n: number }): string => `${from} ${to} ${n}`
const pairOf = (from: string, to: string): string => `${from} → ${to}`

export function parseBody(body: string): { from: string; to: string; n: number } {
  const [from, to, n] = body.split(' ')
  return { from: from as string, to: to as string, n: Number(n) }
}

export class MessageHistory {
  readonly sends: RecordedSend[] = []
  readonly shown: RecordedDelivery[] = []
  readonly #numbers = new Map<string, number>()

  /** Records a send before the message is sent; the outcome is `unknown` until the caller sets it. */
  recordSend(from: string, to: string): RecordedSend {
    const pair = pairOf(from, to)
    const n = (this.#numbers.get(pair) ?? 0) + 1
    this.#numbers.set(pair, n)
    const send: RecordedSend = { from, to, n, outcome: 'unknown' }
    this.sends.push(send)
    return send
  }

  recordShown(by: string, body: string): void {
    const { from, n } = parseBody(body)
    this.shown.push({ by, from, n })
  }

  get acked(): number {
    return this.sends.filter(({ outcome }) => outcome === 'acked').length
  }

  /** Returns a sentence for each broken rule, at most 20 of them; an empty list if the history is correct. */
  faults(stored: StoredMessage[]): string[] {
    return [...this.faultsOfStored(stored), ...this.#faultsOfShown(stored)].slice(0, 20)
  }

  /** The sends that are acknowledged by now. */
  ackedSends(): RecordedSend[] {
    return this.sends.filter(({ outcome }) => outcome === 'acked')
  }

  /** Returns the faults in what is stored. `required`: the sends that must be stored; left out: all that are acknowledged. */
  faultsOfStored(stored: StoredMessage[], required: readonly RecordedSend[] = this.ackedSends()): string[] {
    const faults: string[] = []
    const times = countBy(stored.map(messageKey))
    const known = new Map(this.sends.map((send) => [messageKey(send), send]))
    for (const [key, count] of times) {
      if (count > 1) faults.push(`stored ${count} times: ${key}`)
      const send = known.get(key)
      if (!send) faults.push(`stored, but never sent: ${key}`)
      else if (send.outcome === 'refused') faults.push(`stored, but its sender was refused: ${key}`)
    }
    for (const send of required)
      if (!times.has(messageKey(send))) faults.push(`acknowledged, but not stored: ${messageKey(send)}`)
    const order = inOrder(stored.map(({ from, to, n }) => ({ pair: pairOf(from, to), n })))
    return [...faults, ...order.map((text) => `stored out of order: ${text}`)]
  }

  #faultsOfShown(stored: StoredMessage[]): string[] {
    const faults: string[] = []
    const seen = countBy(this.shown.map(({ by, from, n }) => messageKey({ from, to: by, n })))
    for (const [key, count] of seen) if (count > 1) faults.push(`shown ${count} times: ${key}`)
    const there = new Set(stored.map(messageKey))
    for (const key of there) if (!seen.has(key)) faults.push(`stored, but never shown: ${key}`)
    for (const key of seen.keys()) if (!there.has(key)) faults.push(`shown, but not stored: ${key}`)
    const order = inOrder(this.shown.map(({ by, from, n }) => ({ pair: pairOf(from, by), n })))
    return [...faults, ...order.map((text) => `shown out of order: ${text}`)]
  }
}

function inOrder(numbers: { pair: string; n: number }[]): string[] {
  const last = new Map<string, number>()
  const faults: string[] = []
  for (const { pair, n } of numbers) {
    const before = last.get(pair) ?? 0
    if (n <= before) faults.push(`${pair}: ${n} after ${before}`)
    last.set(pair, Math.max(n, before))
  }
  return faults
}

function countBy(keys: string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
  return counts
}

export interface StoredMessage {
  from: string
  to: string
  n: number
}

/**
 * Reads a database that no daemon has open: its messages in the order in which they were stored, first those that were pruned into the archive, and
 * the result of SQLite's integrity check.
 */
export function readStored(
  { relay, databasePath }: Trial,
  path = databasePath,
): { messages: StoredMessage[]; pruned: number; integrity: string } {
  const { bodies, archived, integrity } = relay.read(path)
  return { messages: [...archived, ...bodies].map(parseBody), pruned: archived.length, integrity }
}
