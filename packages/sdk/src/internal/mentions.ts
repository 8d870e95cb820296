// Whether a message is addressed to somebody, and whether a text names them.

interface Said {
  /** The message's kind. */
  kind: string
  /** The message is in a pair or group with that person. */
  isDirect: boolean
  /** The message's body, read only where it decides. */
  body: () => string
}

/**
 * Whether a message is addressed to the person of this name. A `status` asks for nothing. In a channel the message must name them: a question in any way,
 * other kinds with the sign `@`.
 */
export function isSaidTo(name: string, { kind, isDirect, body }: Said): boolean {
  if (kind === 'status') return false
  return isDirect || (kind === 'question' ? names(body(), name) : mentions(body(), name))
}

/** Whether a text has the name with the sign: `@Ann` and `(@Ann)`, and neither `@Anna` nor `joe@Ann`. */
function mentions(text: string, name: string): boolean {
  return stands(text, `@${name}`)
}

/** Whether a text has the name with the sign, or as a word of its own: `Ann, may I?` */
function names(text: string, name: string): boolean {
  return mentions(text, name) || stands(text, name)
}

/** Whether the words stand outside a longer name or an address. A name may end with a dot or a dash, and so may a sentence. */
function stands(text: string, words: string): boolean {
  for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + 1)) {
    const [before, after] = [text.charAt(at - 1), text.slice(at + words.length, at + words.length + 2)]
    if (!/[\w.@/-]/.test(before) && !/^(?:[\w@/-]|\.\w)/.test(after)) return true
  }
  return false
}
