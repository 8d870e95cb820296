// Splits a command line into words, for the CLI and the page alike: quotes and backslashes as people write them, and no shell, so nothing in it is run. Also
// quotes a word for a shell, in lines that are printed to be pasted or written to be run.

/**
 * The words of a command line. Quotes hold words together; a backslash takes the next sign as it is, in double quotes only before `"`, `\`, `$` and a
 * backquote.
 */
export function splitCommandLine(line: string): string[] {
  const words = line.match(/(?:"(?:\\[\s\S]|[^"\\])*"|'[^']*'|\\[\s\S]|[^\s"'\\]|["'\\])+/g) ?? []
  return words.map((word) =>
    word.replace(quoted, (_, double, single, sign) =>
      double === undefined ? (single ?? sign) : double.replace(/\\(["\\$`])/g, '$1'),
    ),
  )
}

/** The quote that the line opens and never closes. */
export function openQuoteOf(line: string): string | undefined {
  return /["']/.exec(line.replace(quoted, ''))?.[0]
}

const quoted = /"((?:\\[\s\S]|[^"\\])*)"|'([^']*)'|\\([\s\S])/g

export function shellQuote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
