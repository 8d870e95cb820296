// The first line of a text, by which a task or a contract is called in a list.

const lineChars = 160

/** Without the signs that make it a heading. */
export function firstLine(text: string): string {
  const line = text.trimStart().split('\n', 1)[0] ?? ''
  const words = line.replace(/^#{1,6}\s+/, '').trim()
  return words.length > lineChars ? `${words.slice(0, lineChars)} …` : words
}
