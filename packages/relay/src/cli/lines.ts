// Formats messages and events as lines for people. Texts in them that others wrote are cleaned here.

import { describeEvent } from '@agent-relay/sdk/internal/event-text'
import type { Message, RelayEvent } from '@agent-relay/sdk/protocol'
import type { Printer } from './print.ts'
import { cleanText, dateTimeText, oneLine, shortenText, textWidth, timeText } from './text.ts'

/** Maximum number of characters of a body in a feed that goes to a file or pipe. At a terminal, the terminal's width is the limit. */
const feedBodyCharsMax = 160
const feedBodyCharsMin = 20
/** Maximum number of characters that are cleaned of a body. The feed shows only its beginning, and cleaning a large body would block the daemon. */
const feedReadCharsMax = 16 * 1024

type FeedMessage = Pick<Message, 'from' | 'to' | 'kind' | 'body' | 'ts'>

/**
 * Formats a message for the feed: `[14:32:01] dev-b → pm [status] "Task P4 DONE, last commit abc1234..."`, with the workspace's name in a feed of all
 * workspaces.
 */
export function feedLine(print: Printer, { from, to, kind, body, ts }: FeedMessage, workspace?: string): string {
  const [time, sender, target] = [`[${timeText(ts)}]${placeText(workspace)}`, oneLine(from), addressText(to)]
  const used = textWidth(`${time} ${sender} → ${target} [${kind}] ""`)
  const room = print.width === Number.POSITIVE_INFINITY ? feedBodyCharsMax : print.width - used
  const text = shortenText(oneLine(body.slice(0, feedReadCharsMax)), Math.max(feedBodyCharsMin, room), '...')
  return `${print.paint('dim', time)} ${print.paint('bold', sender)} → ${print.paint('bold', target)} ${kindText(print, kind)} "${text}"`
}

/** Formats a message with its head and body. The body is indented, so that no line of it looks like the head of another message. */
export function messageBlock(print: Printer, message: Message): string {
  const { id, ts, from, to, kind, thread, replyTo, body } = message
  const about = [
    ...(thread !== undefined && thread !== replyTo ? [`thread ${oneLine(thread)}`] : []),
    ...(replyTo === undefined ? [] : [`reply to ${oneLine(replyTo)}`]),
  ]
  const head = [
    print.paint('dim', `${oneLine(id)}  ${dateTimeText(ts)} `),
    `${print.paint('bold', oneLine(from))} → ${addressText(to)}`,
    ...(kind === 'free' ? [] : [kindText(print, kind)]),
    ...(about.length > 0 ? [print.paint('dim', `(${about.join(', ')})`)] : []),
  ].join(' ')
  return `${head}\n${indentedBody(body)}`
}

/** Returns the text for the workspace of an event; empty if only one workspace is shown. */
function placeText(workspace: string | undefined): string {
  return workspace === undefined ? '' : ` ${oneLine(workspace)} ·`
}

/** Formats messages with an empty line between them. */
export function messageBlocks(print: Printer, messages: Message[]): string {
  return messages.map((message) => messageBlock(print, message)).join('\n\n')
}

function indentedBody(body: string): string {
  return cleanText(body).trimEnd().replace(/^/gm, '  ')
}

export function addressText(to: Message['to']): string {
  return oneLine(typeof to === 'string' ? to : to.join(', '))
}

function kindText(print: Printer, kind: string): string {
  return print.paint(kind === 'question' || kind === 'directive' ? 'yellow' : 'cyan', `[${oneLine(kind)}]`)
}

/** Formats an event as a line: a message as in the feed, other events in a few words. */
export function eventLine(print: Printer, event: RelayEvent, workspace?: string): string {
  if (event.type === 'events.skipped') return skippedLine(print, event.fact, workspace)
  if (event.message) return feedLine(print, event.message, workspace)
  return print.paint('dim', `[${timeText(event.ts)}]${placeText(workspace)} ${oneLine(factText(event))}`)
}

/** Events that were left out because the terminal was too slow. */
export interface SkippedEvents {
  count: number
  /** The number of the journal entry before the first event that was left out. */
  since: number
}

/** Returns the line about events that were left out: `… 812 more: agent-relay events --since 40211` */
export function skippedLine(print: Printer, { count, since }: SkippedEvents, workspace?: string): string {
  const where = workspace === undefined ? '' : ` --project ${oneLine(workspace)}`
  return print.paint('dim', print.typed(`… ${count} more: agent-relay events --since ${since}${where}`))
}

function factText(event: RelayEvent): string {
  const { type, by } = event
  const said = describeEvent(event, fieldText)
  if (said === undefined) return `${type} by ${by}`
  const id = idOf(event)
  return id === undefined ? said : `${said} (${id})`
}

/** Returns the id of the event's subject, for use in commands, unless the event's text contains it already. */
function idOf({ type, fact }: RelayEvent): string | undefined {
  const { message, id } = fact as Record<string, unknown>
  const shown = /^(?:delivery|reaction)\./.test(type)
    ? message
    : /^(?:run\.|action\.(?:invoked|completed)$)/.test(type)
      ? id
      : undefined
  return typeof shown === 'string' ? shown : undefined
}

/** Returns a field as text. It is neither cleaned nor cut here, since the whole line is. */
function fieldText(record: unknown, field: string): string {
  const value = (record as Record<string, unknown> | null | undefined)?.[field]
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '?'
}
