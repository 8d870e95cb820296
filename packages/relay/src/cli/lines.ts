// Messages and events as lines for people. Everything in them that others wrote is cleaned on the way.

import { describeEvent } from '@agent-relay/sdk/internal/event-text'
import type { Message, RelayEvent } from '@agent-relay/sdk/protocol'
import type { Printer } from './print.ts'
import { cleanText, dateTimeText, oneLine, shortenText, textWidth, timeText } from './text.ts'

/** The most characters of a body in a feed that goes to a file or a pipe; a terminal cuts at its own width. */
const feedBodyCharsMax = 160
const feedBodyCharsMin = 20
/** The feed shows only the beginning of a body; cleaning all of a large one would block the daemon. */
const feedReadCharsMax = 16 * 1024

type FeedMessage = Pick<Message, 'from' | 'to' | 'kind' | 'body' | 'ts'>

/** A message in the feed: `[14:32:01] dev-b → pm [status] "Task P4 DONE, last commit abc1234..."`, in a feed of all workspaces with the workspace's name. */
export function feedLine(print: Printer, { from, to, kind, body, ts }: FeedMessage, workspace?: string): string {
  const [time, sender, target] = [`[${timeText(ts)}]${placeText(workspace)}`, oneLine(from), addressText(to)]
  const used = textWidth(`${time} ${sender} → ${target} [${kind}] ""`)
  const room = print.width === Number.POSITIVE_INFINITY ? feedBodyCharsMax : print.width - used
  const text = shortenText(oneLine(body.slice(0, feedReadCharsMax)), Math.max(feedBodyCharsMin, room), '...')
  return `${print.paint('dim', time)} ${print.paint('bold', sender)} → ${print.paint('bold', target)} ${kindText(print, kind)} "${text}"`
}

/** A message with its head and body. The body is indented, so that no line of it can pass for another message's head. */
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

/** The name of an event's workspace, where events of several are shown. */
function placeText(workspace: string | undefined): string {
  return workspace === undefined ? '' : ` ${oneLine(workspace)} ·`
}

/** Message blocks, with an empty line between them. */
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

/** An event as a line: a message as the feed shows it, anything else in a few words. */
export function eventLine(print: Printer, event: RelayEvent, workspace?: string): string {
  if (event.type === 'events.skipped') return skippedLine(print, event.fact, workspace)
  if (event.message) return feedLine(print, event.message, workspace)
  return print.paint('dim', `[${timeText(event.ts)}]${placeText(workspace)} ${oneLine(factText(event))}`)
}

/** Events that came faster than they could be shown. */
export interface SkippedEvents {
  count: number
  /** The number of the entry before the first event that was skipped. */
  since: number
}

/** The line for events that were left out: `… 812 more: agent-relay events --since 40211` */
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

/** The id with which a command can ask for the subject of the event, where the event's words do not say it. */
function idOf({ type, fact }: RelayEvent): string | undefined {
  const { message, id } = fact as Record<string, unknown>
  const shown = /^(?:delivery|reaction)\./.test(type)
    ? message
    : /^(?:run\.|action\.(?:invoked|completed)$)/.test(type)
      ? id
      : undefined
  return typeof shown === 'string' ? shown : undefined
}

/** A field as text, and whole: the line is cleaned at the end, and cut where a terminal ends. */
function fieldText(record: unknown, field: string): string {
  const value = (record as Record<string, unknown> | null | undefined)?.[field]
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '?'
}
