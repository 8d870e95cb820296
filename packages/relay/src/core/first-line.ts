// The first line of a task or contract, which stands for the whole text in lists.

const lineChars = 160

/** Returns the text's first line, shortened and without the Markdown signs of a heading. */
export function firstLine(text: string): string {
  const line = text.trimStart().split('\n', 1)[0] ?? ''
  const words = line.replace(/^#{1,6}\s+/, '').trim()
  return words.length > lineChars ? `${words.slice(0, lineChars)} …` : words
}
