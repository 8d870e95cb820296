// How messages look to a model: in its inbox, in one block of text that is put before a running agent by keystrokes, a hook or its CLI's own
// door, and pushed. Each says who else got it and where an answer goes. Nothing in a message can close its block or pass for a line of ours.
// When and by which way it is handed over is decided elsewhere. Loaded by the hook: no imports but the cleaner.

import { cleanForModel, cleanLineForModel } from './clean.ts'

export interface InjectedMessage {
  id: string
  from: string
  /** Unset: to its reader alone, as in a pair. */
  to?: string | readonly string[]
  channel?: string
  thread?: string
  kind?: string
  body: string
}

type Head = Omit<InjectedMessage, 'body'>

/**
 * Where an answer goes: to the channel or the group in which it was said. What was said to everyone is answered to its sender, or all would hear
 * every answer. A group's address names its reader too, to whom nothing is sent.
 */
export function answerAddress({ from, to, channel }: Head): string {
  return channel ?? (isGroup(to) ? [from, ...to].join() : from)
}

/** How the message is headed in an inbox. A direct message and one of a channel are known by that; for the others it says where an answer goes. */
export function inboxHeading(message: Head): string {
  const { id, from, thread } = message
  const isPlain = recipients(message) === ''
  const answer = isPlain ? '' : ` (answer to ${labelText(answerAddress(message))})`
  const inThread = thread ? ` (thread: ${labelText(thread)})` : ''
  return `[${id}] From ${from}${recipients(message)}${marks(message)}${answer}${inThread}:`
}

/** What is told of a message beside its text, where a host takes the two apart. */
export function pushedMeta(message: Head): Record<string, string> {
  const { id, from, to = '', channel = '', thread = '', kind = 'free' } = message
  const whom = typeof to === 'string' ? to : to.join()
  const head = { from_agent: from, to: whom, answer_to: answerAddress(message), message_id: id }
  return { ...head, channel, thread_id: thread, kind }
}

/** A label that others chose, inside a line: in quotes unless it is a plain word, so that it cannot pass for the rest of the line. */
export function labelText(label: string): string {
  return /^[\w.:,#@/+-]+$/.test(label) ? label : JSON.stringify(cleanLineForModel(label))
}

const isGroup = (to: Head['to']): to is readonly string[] => typeof to === 'object' && to.length > 1

/** Behind the sender's name: nothing for a direct message or one of a channel, whose name stands among the marks. */
function recipients({ to, channel }: Head): string {
  if (channel !== undefined) return ''
  if (to === '*') return ' to everyone'
  if (!isGroup(to)) return ''
  const names = cleanLineForModel(to.join())
  return ` to ${bytesOf(names) <= groupBytesMax ? names : `${to.length} agents`}`
}

/** The channel, and what kind of message it is, unless it is an ordinary one. */
function marks({ channel, kind = 'free' }: Head): string {
  const all = [channel, kind === 'free' ? undefined : kind].filter((mark) => mark !== undefined)
  return all.map((mark) => ` [${cleanLineForModel(mark)}]`).join('')
}

export interface InjectionOptions {
  /** How the model sees the relay's tools, such as `mcp__agent-relay__`. Undefined: it has none, and answers by the command line. */
  toolPrefix: string | undefined
  /** The tool by which it answers, if that is another. */
  sendTool?: string
  /** Without the block: a host that wraps the text of its hooks itself. */
  isBare?: boolean
  /** For a session of Claude Code that has no tools of ours: the address to which it answers by its own. */
  peer?: string
  /** For a session without any tool for it: whose answer is what its model says last in its turn. */
  lastWordsTo?: readonly string[]
  /** What stands before the messages: our own words, clean already. */
  opening?: string
}

/** What one message may cost beyond its body, in UTF-8 bytes. A group's address comes on top, twice. */
export const injectionBytesMax = 270
/** The names of a larger group are not listed with each message. */
export const groupBytesMax = 120

/** The daemon's own name (protocol/limits.ts would be one more file for the hook to load): nobody there to answer. */
const daemonName = 'agent-relay'

/** Several messages are one text: one paste, one turn. */
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

/** Every further line of a body stands two columns in, as in an inbox: what begins at the margin is ours, whatever a body spells. */
function hanging(body: string): string {
  return body.replaceAll('\n', '\n  ')
}

/** Names whom to answer, each once; where names are so long that it would not fit, the tool alone. */
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

/** One of its two places is the heading. */
function groupRoom({ to }: Head): number {
  return isGroup(to) ? 2 * Math.min(groupBytesMax, bytesOf(to.join())) + bytesOf(' to ') : 0
}

const frameBytes = '<system-reminder>\n\n\n</system-reminder>'.length
const encoder = new TextEncoder()
const bytesOf = (text: string): number => encoder.encode(text).length

/** How the agent sends to these: by the call of a tool as its model sees it, or by a command. */
export function howTo(targets: readonly string[], toolPrefix: string | undefined, sendTool = 'relay_send'): string {
  return toolPrefix === undefined
    ? `with: ${targets.map((to) => `agent-relay send '${to}' "…"`).join(' or ')}`
    : `with ${targets.map((to) => `${toolPrefix}${sendTool}(to="${to}")`).join(' or ')}.`
}
