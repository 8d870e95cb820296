// The text of messages for a model: in its inbox, in one block that is put before a running agent by keystrokes, a hook or its CLI's own interface, and
// pushed. Each message says who else got it and where an answer goes. Nothing in a message can close its block or pass for a line of ours. Time and route of
// the delivery are decided elsewhere. Loaded by the hook: no imports but the cleaner.

import { cleanForModel, cleanLineForModel } from './clean.ts'

export interface InjectedMessage {
  id: string
  from: string
  /** The recipients. Unset: the reader alone, as in a pair. */
  to?: string | readonly string[]
  channel?: string
  thread?: string
  kind?: string
  body: string
}

type Head = Omit<InjectedMessage, 'body'>

/**
 * The address for an answer: the channel or the group of the message. A message to everyone is answered to its sender, or all would hear every answer. A
 * group's address names its reader too, to whom nothing is sent.
 */
export function answerAddress({ from, to, channel }: Head): string {
  return channel ?? (isGroup(to) ? [from, ...to].join() : from)
}

/** The heading of a message in an inbox. Direct messages and those of a channel show by themselves where an answer goes; for the others it is written. */
export function inboxHeading(message: Head): string {
  const { id, from, thread } = message
  const isPlain = recipients(message) === ''
  const answer = isPlain ? '' : ` (answer to ${labelText(answerAddress(message))})`
  const inThread = thread ? ` (thread: ${labelText(thread)})` : ''
  return `[${id}] From ${from}${recipients(message)}${marks(message)}${answer}${inThread}:`
}

/** The metadata of a message, for a host that takes it separately from the text. */
export function pushedMeta(message: Head): Record<string, string> {
  const { id, from, to = '', channel = '', thread = '', kind = 'free' } = message
  const whom = typeof to === 'string' ? to : to.join()
  const head = { from_agent: from, to: whom, answer_to: answerAddress(message), message_id: id }
  return { ...head, channel, thread_id: thread, kind }
}

/** A label that others chose, as a part of a line: in quotes unless it is a plain word, so that it cannot pass for the rest of the line. */
export function labelText(label: string): string {
  return /^[\w.:,#@/+-]+$/.test(label) ? label : JSON.stringify(cleanLineForModel(label))
}

const isGroup = (to: Head['to']): to is readonly string[] => typeof to === 'object' && to.length > 1

/** The recipients, behind the sender's name: nothing for a direct message or one of a channel, whose name stands among the marks. */
function recipients({ to, channel }: Head): string {
  if (channel !== undefined) return ''
  if (to === '*') return ' to everyone'
  if (!isGroup(to)) return ''
  const names = cleanLineForModel(to.join())
  return ` to ${bytesOf(names) <= groupBytesMax ? names : `${to.length} agents`}`
}

/** The marks of a message: its channel, and its kind unless that is `free`. */
function marks({ channel, kind = 'free' }: Head): string {
  const all = [channel, kind === 'free' ? undefined : kind].filter((mark) => mark !== undefined)
  return all.map((mark) => ` [${cleanLineForModel(mark)}]`).join('')
}

export interface InjectionOptions {
  /** The prefix of the relay's tools, as the model sees them: `mcp__agent-relay__`. Undefined: the model has none, and answers by the command line. */
  toolPrefix: string | undefined
  /** The tool for answers, if it is not `relay_send`. */
  sendTool?: string
  /** Leaves the block away, for a host that wraps the text of its hooks itself. */
  isBare?: boolean
  /** The address to which Claude Code's own tool sends answers, in a session without our tools. */
  peer?: string
  /** The agents that get the last words of a turn as the answer, in a session without any tool for answers. */
  lastWordsTo?: readonly string[]
  /** Our own words before the messages, clean already. */
  opening?: string
}

/** The most that one message may cost beyond its body, in UTF-8 bytes. A group's address comes on top, twice. */
export const injectionBytesMax = 270
/** The names of a larger group are not listed with each message. */
export const groupBytesMax = 120

/** The daemon's own name as a sender, which takes no answers. Written here, as protocol/limits.ts would be one more file for the hook to load. */
const daemonName = 'agent-relay'

/** Several messages as one text: one paste, one turn. */
export function injectionText(messages: readonly InjectedMessage[], options: InjectionOptions): string {
  const parts = messages.map((message) => `${heading(message)}: ${hanging(cleanForModel(message.body))}`)
  const opening = options.opening ? [options.opening] : []
  const text = [...opening, ...parts, ...hint(messages, options)].join('\n')
  return options.isBare ? text : `<system-reminder>\n${text}\n</system-reminder>`
}

function heading(message: Head): string {
  const [from, id] = [message.from, message.id].map(cleanLineForModel)
  return `Relay message from ${from}${recipients(message)} [${id}]${marks(message)}`
}

/** Indents every further line of a body by two columns, as in an inbox: what begins at the margin is ours, whatever a body spells. */
function hanging(body: string): string {
  return body.replaceAll('\n', '\n  ')
}

/** The line about answering: names everybody to answer once, or the tool alone where the names are too long. */
function hint(
  messages: readonly InjectedMessage[],
  { toolPrefix, sendTool, peer, lastWordsTo }: InjectionOptions,
): string[] {
  if (lastWordsTo) {
    const names = lastWordsTo.map(cleanLineForModel).join(', ')
    return names === '' ? [] : [`The last words of your turn are sent to ${names} as your answer.`]
  }
  const answerable = messages.filter(({ from }) => from !== daemonName)
  if (answerable.length === 0) return []
  const targets = [...new Set(answerable.map((message) => cleanLineForModel(answerAddress(message))))]
  if (peer !== undefined)
    return [`Answer with ${targets.map((to) => `SendMessage(to="${peer}", message="@${to} …")`).join(' or ')}.`]
  const full = `Answer ${howTo(targets, toolPrefix, sendTool)}`
  const headings = messages.reduce((bytes, message) => bytes + bytesOf(heading(message)), 0)
  const room = messages.reduce((bytes, message) => bytes + injectionBytesMax + groupRoom(message), 0)
  const isWithin = bytesOf(full) + headings + frameBytes + 3 * messages.length <= room
  return [isWithin ? full : toolPrefix === undefined ? 'agent-relay send' : `${toolPrefix}${sendTool ?? 'relay_send'}`]
}

/** Bytes for a group's address, which stands in the heading and in the line about answering. */
function groupRoom({ to }: Head): number {
  return isGroup(to) ? 2 * Math.min(groupBytesMax, bytesOf(to.join())) + bytesOf(' to ') : 0
}

const frameBytes = '<system-reminder>\n\n\n</system-reminder>'.length
const encoder = new TextEncoder()
const bytesOf = (text: string): number => encoder.encode(text).length

/** How to send an answer to these: by the call of a tool as the model sees it, or by a command. */
export function howTo(targets: readonly string[], toolPrefix: string | undefined, sendTool = 'relay_send'): string {
  return toolPrefix === undefined
    ? `with: ${targets.map((to) => `agent-relay send '${to}' "…"`).join(' or ')}`
    : `with ${targets.map((to) => `${toolPrefix}${sendTool}(to="${to}")`).join(' or ')}.`
}
