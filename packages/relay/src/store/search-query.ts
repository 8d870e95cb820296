// Makes queries of the search index in FTS5's syntax: the text as several small queries, and marks for the conversation and the sender.

export const conversationMark = (key: number): string => `c${key}`
/** Makes the mark of a sender from the name in hexadecimal: the index would take some names for two words. */
export const senderMark = (name: string): string => `s${Buffer.from(name).toString('hex')}`

/** The most words in one query; the beginning of a word (`pars*`) is expensive, and has a query of its own. */
const wordsTogether = 4

/**
 * Splits a search text into queries, all of which a message must match. The text has words, all of which must occur; "two words" as a phrase; a star
 * at a word's end for its beginning. Nothing else is syntax. Each query alone is cheap.
 */
export function searchQueriesOf(text: string): string[] {
  // FTS5 ends a query at U+0000 and then misses the closing quote.
  const parts = new Set(text.replaceAll('\0', ' ').match(/"[^"]*"|\S+/g) ?? [])
  const [words, beginnings]: [string[], string[]] = [[], []]
  for (const part of parts) {
    const isBeginning = part.endsWith('*') && !part.startsWith('"')
    const word = part.replaceAll('"', ' ').replace(/\*$/, '').trim()
    if (word !== '') (isBeginning ? beginnings : words).push(`"${word}"${isBeginning ? '*' : ''}`)
  }
  const questions: string[] = []
  for (let at = 0; at < words.length; at += wordsTogether)
    questions.push(words.slice(at, at + wordsTogether).join(' AND '))
  return [...questions, ...beginnings]
}

/** Limits one query of `searchQueriesOf` to messages that carry all marks of `every` and one of `some`. */
export function queryWithMarks(question: string, every: string[], some: string[]): string {
  const marks = [...every, ...(some.length > 0 ? [`(${some.join(' OR ')})`] : [])]
  const where = marks.length > 0 ? ` AND marks : (${marks.join(' AND ')})` : ''
  return `body : (${question})${where}`
}
