// Builds queries of the search index in FTS5's syntax: several small queries for one search text, and marks (extra words of each message) for its conversation
// and sender.

export const conversationMark = (key: number): string => `c${key}`
/** Returns the word that marks the messages of a sender. The name is in hexadecimal, since the index would split some names into two words. */
export const senderMark = (name: string): string => `s${Buffer.from(name).toString('hex')}`

/** Maximum number of words in one query. The beginning of a word (`pars*`) is expensive, and always gets a query of its own. */
const wordsTogether = 4

/**
 * Splits a search text into queries; a message must match all of them. Every word must occur; "two words" is a phrase; a star after a word finds all words that
 * begin with it. There is no other syntax. The split keeps each query cheap.
 */
export function searchQueriesOf(text: string): string[] {
  // FTS5 reads a query only up to U+0000, and would report a missing quotation mark.
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

/** Limits a query of `searchQueriesOf` to messages that have all marks of `every` and at least one mark of `some`. */
export function queryWithMarks(question: string, every: string[], some: string[]): string {
  const marks = [...every, ...(some.length > 0 ? [`(${some.join(' OR ')})`] : [])]
  const where = marks.length > 0 ? ` AND marks : (${marks.join(' AND ')})` : ''
  return `body : (${question})${where}`
}
