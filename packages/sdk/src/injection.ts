// How messages look that are put before a running agent by keystrokes, a hook or its CLI's own door: one block of text, which nothing in a
// message can close or steer out of. When and by which way it is handed over is decided elsewhere. Loaded by the hook: no imports at all.

export interface InjectedMessage {
  id: string
  from: string
  channel?: string
  body: string
}

export interface InjectionOptions {
  /** How the model sees the relay's tools, such as `mcp__agent-relay__`. Undefined: it has none, and answers by the command line. */
  toolPrefix: string | undefined
  /** Without the block: a host that wraps the text of its hooks itself. */
  isBare?: boolean
}

/** What one message may cost beyond its body, in UTF-8 bytes. */
export const injectionBytesMax = 250

/** The daemon's own name (protocol/limits.ts would be one more file for the hook to load): nobody there to answer. */
const daemonName = 'agent-relay'

/** Several messages are one text: one paste, one turn. */
export function injectionText(messages: readonly InjectedMessage[], options: InjectionOptions): string {
  const parts = messages.map((message) => `${heading(message)}: ${withoutHeadings(cleanText(message.body))}`)
  const text = [...parts, ...hint(messages, options)].join('\n')
  return options.isBare ? text : `<system-reminder>\n${text}\n</system-reminder>`
}

/**
 * What may be typed into a terminal or put between tags: no control characters but newline and tab, so no escape sequence and no end of a
 * paste; nothing invisible and nothing that turns the writing around; no tag that opens or closes a reminder.
 */
export function cleanText(text: string): string {
  return withoutReminders(
    text
      .replace(/\r\n?|[\u0085\u2028\u2029]/g, '\n')
      .replace(/(?![\n\t])[\p{Cc}\p{Cf}]/gu, '')
      .replace(/\p{Cs}/gu, '\ufffd'),
  )
}

/** Without the tags by which a host speaks to its model. Also the wide forms of the signs, which some take for the same. */
export function withoutReminders(text: string): string {
  return text.replace(/[<\uff1c\ufe64](?=\s*(?:[/\uff0f]\s*)?system[\s_-]*reminder)/gi, '&lt;')
}

const oneLine = (text: string): string => cleanText(text).replace(/\s+/g, ' ')

function heading({ from, id, channel }: InjectedMessage): string {
  return `Relay message from ${oneLine(from)} [${oneLine(id)}]${channel === undefined ? '' : ` [${oneLine(channel)}]`}`
}

/** A body must not look like two messages, of which the second has a sender of its choice. */
function withoutHeadings(body: string): string {
  return body.replace(/^(?=[^\S\n]*Relay message from\b)/gim, '> ')
}

/** Names whom to answer, each once; where names are so long that it would not fit, the tool alone. */
function hint(messages: readonly InjectedMessage[], { toolPrefix }: InjectionOptions): string[] {
  const answerable = messages.filter(({ from }) => from !== daemonName)
  if (answerable.length === 0) return []
  const targets = [...new Set(answerable.map(({ from, channel }) => oneLine(channel ?? from)))]
  const full = `Answer ${howTo(targets, toolPrefix)}`
  const headings = messages.reduce((bytes, message) => bytes + bytesOf(heading(message)), 0)
  const isWithin = bytesOf(full) + headings + frameBytes + 3 * messages.length <= injectionBytesMax * messages.length
  return [isWithin ? full : toolPrefix === undefined ? 'agent-relay send' : `${toolPrefix}relay_send`]
}

const frameBytes = '<system-reminder>\n\n\n</system-reminder>'.length
const encoder = new TextEncoder()
const bytesOf = (text: string): number => encoder.encode(text).length

/** How the agent sends to these: by the call of a tool as its model sees it, or by a command. */
export function howTo(targets: readonly string[], toolPrefix: string | undefined): string {
  return toolPrefix === undefined
    ? `with: ${targets.map((to) => `agent-relay send '${to}' "…"`).join(' or ')}`
    : `with ${targets.map((to) => `${toolPrefix}relay_send(to="${to}")`).join(' or ')}.`
}
