// Describes a journal event in a few words, as short as the page shows it. The words come from sdk/internal/event-text.ts; store/concerns.ts finds the agents
// and the conversation of an event.

import { describeEvent } from '@agent-relay/sdk/internal/event-text'
import { cleanLine, type RelayEvent } from '@agent-relay/sdk/internal/page'
import { previewOf } from './markdown-tree.ts'

const [shown, quoted] = [160, 70]

/** Describes an event in one line. `bodies` holds the texts of nearby messages, so that a delivery or a reaction can quote its message. */
export function eventText(event: RelayEvent, bodies?: ReadonlyMap<string, string>): string {
  const { type, by, fact } = event
  if (event.type === 'message.created') {
    const { from, to, body } = event.message
    return `${from} → ${recipientsText(to)}: ${cut(previewOf(body), shown)}`
  }
  const said = describeEvent(event, read) ?? `${cut(cleanLine(type), quoted)} by ${cut(cleanLine(by), quoted)}`
  const body = /^(?:delivery|reaction)\./.test(type) ? bodies?.get(read(fact, 'message')) : undefined
  return body === undefined ? said : `${said}: ${cut(previewOf(body), quoted)}`
}

export function recipientsText(to: string | string[]): string {
  return Array.isArray(to) ? to.join(', ') : to === '*' ? 'everyone' : to
}

function read(record: unknown, field: string): string {
  const value = (record as Record<string, unknown> | null | undefined)?.[field]
  // `*`, the name of the broadcast, stays as it is: `previewOf` would take it for Markdown.
  if (typeof value === 'string') return value === '*' ? value : cut(previewOf(value), shown)
  return typeof value === 'number' ? String(value) : '?'
}

const cut = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max)} …` : text)
