// A line of a form as the words of a command.

/** As a shell would split it, without anything else that a shell does: quotes hold words together, a backslash takes the next sign as it is. */
export function wordsOf(line: string): string[] {
  const words = line.match(/(?:"(?:\\[\s\S]|[^"\\])*"|'[^']*'|\\[\s\S]|[^\s"'\\]|["'\\])+/g) ?? []
  return words.map((word) =>
    word.replace(/"((?:\\[\s\S]|[^"\\])*)"|'([^']*)'|\\([\s\S])/g, (_, double, single, sign) =>
      double === undefined ? (single ?? sign) : double.replace(/\\(["\\$`])/g, '$1'),
    ),
  )
}
