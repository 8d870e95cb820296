// Every limit that both ends of a wire must agree on, with its unit last. Apart from the schemas, so that a client loads no zod for them.

const KiB = 1024
const MiB = 1024 * KiB

/** Every limit has its unit last. Those a workspace owner may change are read from configuration; these are the wire's own. */
export const limits = {
  /** One message body, in UTF-8 bytes. Larger work products belong in files. */
  bodyBytesMax: 256 * KiB,
  /** One line that a client sends. A body of 256 KiB fits even when JSON escaping doubles it. */
  lineBytesMax: 1 * MiB,
  /** One line that the daemon sends: a page (`pageBytesMax`) or one large message, and room for escaping. */
  answerBytesMax: 4 * MiB,
  /** An inbox or history answer stops before this many bytes of bodies and says how many more wait. */
  pageBytesMax: 512 * KiB,
  pageMessagesMax: 500,
  /** A call id chosen by the sender; ours are 28 characters. */
  idCharsMax: 200,
  threadCharsMax: 200,
  groupAgentsMax: 50,
  emojiCharsMax: 32,
  searchCharsMax: 400,
  /** A wait for a reply never lasts longer: ten minutes. */
  waitMsMax: 600_000,
  waitMsDefault: 30_000,
  eventsPageMax: 1_000,
  /** An action's input or output, as JSON. */
  actionBytesMax: 256 * KiB,
  actionMsDefault: 30_000,
  actionDescriptionCharsMax: 2_000,
} as const

const utf8 = new TextEncoder()

/** Bytes of `text` as UTF-8; a cheap bound first, since most bodies are far below the limit. */
export function isWithinBytes(text: string, bytesMax: number): boolean {
  return text.length * 3 <= bytesMax || (text.length <= bytesMax && utf8.encode(text).length <= bytesMax)
}

/** The daemon's own name: it sends what it has to say as this, and no agent may take it. */
export const daemonName = 'agent-relay'
