// Whether a message is said to somebody, and whether a text names them.

interface Said {
  /** Of the message. */
  kind: string
  /** In a pair or group that they are in. */
  isDirect: boolean
  /** Read only where it decides. */
  body: () => string
}

/**
 * Is this said to the person of this name? What only reports asks for nothing. In a channel they must be named: by a question in any way, else
 * with the sign.
 */
export function isSaidTo(name: string, { kind, isDirect, body }: Said): boolean {
  if (kind === 'status') return false
  return isDirect || (kind === 'question' ? names(body(), name) : mentions(body(), name))
}

/** With the sign: `@Ann` and `(@Ann)`, and neither `@Anna` nor `joe@Ann`. */
function mentions(text: string, name: string): boolean {
  return stands(text, `@${name}`)
}

/** With the sign, or the bare name as a word of its own: `Ann, may I?` */
function names(text: string, name: string): boolean {
  return mentions(text, name) || stands(text, name)
}

/** Not inside a longer name or an address. A name may end with a dot or a dash, and so may a sentence. */
function stands(text: string, words: string): boolean {
  for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + 1)) {
    const [before, after] = [text.charAt(at - 1), text.slice(at + words.length, at + words.length + 2)]
    if (!/[\w.@/-]/.test(before) && !/^(?:[\w@/-]|\.\w)/.test(after)) return true
  }
  return false
}
