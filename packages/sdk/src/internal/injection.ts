// The text in which a model is shown messages: in its inbox, in a block that keystrokes, a hook or the CLI's own interface puts before a running agent, and in
// messages that are pushed to its CLI. Each message says who else received it and where an answer goes. Nothing in a message can close its block or pass for a
// line of ours. When and how a message is delivered is decided elsewhere. The programs that CLIs run as hooks load this file at every start, so it imports only
// clean.ts.

import { cleanForModel, cleanLineForModel } from './clean.ts'

export interface InjectedMessage {
  id: string
  from: string
  /** The recipients. Unset if the reader is the only recipient. */
  to?: string | readonly string[]
  channel?: string
  thread?: string
  kind?: string
  body: string
}

type MessageMetadata = Omit<InjectedMessage, 'body'>

/**
 * Returns the address for an answer: the message's channel or group. A message to everyone is answered to its sender only, or everyone would receive every
 * answer. A group's address includes the agent that answers; it gets no copy of its own answer.
 */
export function answerAddress({ from, to, channel }: MessageMetadata): string {
  return channel ?? (isGroup(to) ? [from, ...to].join() : from)
}

/** The heading of a message in an inbox. It names the address for an answer, unless that is clear, as in a direct message or a channel. */
export function inboxHeading(message: MessageMetadata): string {
  const { id, from, thread } = message
  const isPlain = recipients(message) === ''
  const answer = isPlain ? '' : ` (answer to ${labelText(answerAddress(message))})`
  const inThread = thread ? ` (thread: ${labelText(thread)})` : ''
  return `[${id}] From ${from}${recipients(message)}${headingMarks(message)}${answer}${inThread}:`
}

/** The fields of a message other than its text, for CLIs that take these separately. */
export function pushedMetadata(message: MessageMetadata): Record<string, string> {
  const { id, from, to = '', channel = '', thread = '', kind = 'free' } = message
  const whom = typeof to === 'string' ? to : to.join()
  const head = { from_agent: from, to: whom, answer_to: answerAddress(message), message_id: id }
  return { ...head, channel, thread_id: thread, kind }
}

/** A name or label that others chose, for use inside a line: quoted unless it is a plain word, so that it cannot pass for the rest of the line. */
export function labelText(label: string): string {
  return /^[\w.:,#@/+-]+$/.test(label) ? label : JSON.stringify(cleanLineForModel(label))
}

const isGroup = (to: MessageMetadata['to']): to is readonly string[] => typeof to === 'object' && to.length > 1

/** The recipients, as a text after the sender's name. Empty for a direct message, and for a channel, which is shown in brackets after the heading. */
function recipients({ to, channel }: MessageMetadata): string {
  if (channel !== undefined) return ''
  if (to === '*') return ' to everyone'
  if (!isGroup(to)) return ''
  const names = cleanLineForModel(to.join())
  return ` to ${bytesOf(names) <= groupBytesMax ? names : `${to.length} agents`}`
}

/** The bracketed parts of a message's heading: its channel, and its kind unless the kind is `free`. */
function headingMarks({ channel, kind = 'free' }: MessageMetadata): string {
  const all = [channel, kind === 'free' ? undefined : kind].filter((mark) => mark !== undefined)
  return all.map((mark) => ` [${cleanLineForModel(mark)}]`).join('')
}

export interface InjectionOptions {
  /**
   * The prefix of the relay's tools as the model sees them: `mcp__agent-relay__`. Undefined if the model has no relay tools and answers with the command line.
   */
  toolPrefix: string | undefined
  /** The tool with which the model answers. Unset for `relay_send`. */
  sendTool?: string
  /** Whether to leave out the enclosing tag, for a CLI that wraps the text of its hooks itself. */
  isBare?: boolean
  /** The address, for Claude Code's own tool SendMessage, to which the model sends answers in a session without our tools. */
  peer?: string
  /** The agents to which the daemon sends the last text of the model's turn, as its answer, in a session without any tool for answers. */
  lastWordsTo?: readonly string[]
  /** A text of the daemon to put before the messages. It must be clean already. */
  opening?: string
}

/** Maximum number of UTF-8 bytes that one message adds to its body. A group's address, which is written twice, is not included. */
export const injectionBytesMax = 270
/** Maximum number of bytes for the names of a group's members; for a larger group, the number of agents is written instead. */
export const groupBytesMax = 120

/**
 * The name under which the daemon sends messages; it takes no answers. The same as in protocol/limits.ts, which is not imported because hook programs would
 * load one more file at every start.
 */
const daemonName = 'agent-relay'

/** Puts several messages into one text, so that they need only one paste and one turn of the model. */
export function injectionText(messages: readonly InjectedMessage[], options: InjectionOptions): string {
  const parts = messages.map((message) => `${heading(message)}: ${indentBody(cleanForModel(message.body))}`)
  const opening = options.opening ? [options.opening] : []
  const text = [...opening, ...parts, ...answerLines(messages, options)].join('\n')
  return options.isBare ? text : `<system-reminder>\n${text}\n</system-reminder>`
}

function heading(message: MessageMetadata): string {
  const [from, id] = [message.from, message.id].map(cleanLineForModel)
  return `Relay message from ${from}${recipients(message)} [${id}]${headingMarks(message)}`
}

/** Indents every line of a body but the first by two columns, as in an inbox: a line without indentation is then always ours, whatever the body contains. */
function indentBody(body: string): string {
  return body.replaceAll('\n', '\n  ')
}

/** The line that says how to answer. It names each recipient of an answer once, or only the tool if the names are too long. */
function answerLines(
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
  const full = `Answer ${answerInstruction(targets, toolPrefix, sendTool)}`
  const headings = messages.reduce((bytes, message) => bytes + bytesOf(heading(message)), 0)
  const room = messages.reduce((bytes, message) => bytes + injectionBytesMax + groupRoom(message), 0)
  const isWithin = bytesOf(full) + headings + frameBytes + 3 * messages.length <= room
  return [isWithin ? full : toolPrefix === undefined ? 'agent-relay send' : `${toolPrefix}${sendTool ?? 'relay_send'}`]
}

/** The bytes allowed for a group's address, which is written in the heading and in the line about answering. */
function groupRoom({ to }: MessageMetadata): number {
  return isGroup(to) ? 2 * Math.min(groupBytesMax, bytesOf(to.join())) + bytesOf(' to ') : 0
}

const frameBytes = '<system-reminder>\n\n\n</system-reminder>'.length
const encoder = new TextEncoder()
const bytesOf = (text: string): number => encoder.encode(text).length

/** Says how to send an answer to these recipients: by a tool call with the tool's name as the model sees it, or by a command. */
export function answerInstruction(
  targets: readonly string[],
  toolPrefix: string | undefined,
  sendTool = 'relay_send',
): string {
  return toolPrefix === undefined
    ? `with: ${targets.map((to) => `agent-relay send '${to}' "…"`).join(' or ')}`
    : `with ${targets.map((to) => `${toolPrefix}${sendTool}(to="${to}")`).join(' or ')}.`
}
