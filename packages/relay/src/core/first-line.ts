// The first line of a task or a contract, which stands for it in lists.

const lineChars = 160

/** The first line without the Markdown signs of a heading, shortened. */
export function firstLine(text: string): string {
  const line = text.trimStart().split('\n', 1)[0] ?? ''
  const words = line.replace(/^#{1,6}\s+/, '').trim()
  return words.length > lineChars ? `${words.slice(0, lineChars)} …` : words
}
