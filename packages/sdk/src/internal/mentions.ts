// Decides whether a message is addressed to a certain person, and whether a text mentions a name.

interface MessageToPerson {
  kind: string
  /** Whether the message is in a pair or group to which the person belongs. */
  isDirect: boolean
  /** Returns the message's body; called only if the body decides. */
  body: () => string
}

/**
 * Whether a message is addressed to the person of this name. A message of kind `status` never is: it asks for nothing. In a channel, a `question` must contain
 * the name in any form, and other kinds the name with `@`.
 */
export function isAddressedTo(name: string, { kind, isDirect, body }: MessageToPerson): boolean {
  if (kind === 'status') return false
  return isDirect || (kind === 'question' ? hasName(body(), name) : hasMention(body(), name))
}

/** Whether a text contains the name with an @: `@Ann` and `(@Ann)` count, `@Anna` and `joe@Ann` do not. */
function hasMention(text: string, name: string): boolean {
  return hasWholeWords(text, `@${name}`)
}

/** Whether a text contains the name with an `@`, or as a word by itself: `Ann, may I?` */
function hasName(text: string, name: string): boolean {
  return hasMention(text, name) || hasWholeWords(text, name)
}

/**
 * Whether the words occur in the text, and not as a part of a longer name or an address. A dot or a dash after the words may end a sentence, so it does not
 * count as part of a longer name.
 */
function hasWholeWords(text: string, words: string): boolean {
  for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + 1)) {
    const [before, after] = [text.charAt(at - 1), text.slice(at + words.length, at + words.length + 2)]
    if (!/[\w.@/-]/.test(before) && !/^(?:[\w@/-]|\.\w)/.test(after)) return true
  }
  return false
}
