// Splits a command line into words, for the CLI and the dashboard alike. Quotes and backslashes work as in a shell, but no shell is involved, so nothing in the
// line is run. Also quotes a word for a shell, for command lines that people paste or that programs run.

/**
 * Splits a command line into its words. Quotes hold words together; a backslash takes the next character literally, inside double quotes only before `"`, `\`,
 * `$` and a backquote.
 */
export function splitCommandLine(line: string): string[] {
  const words = line.match(/(?:"(?:\\[\s\S]|[^"\\])*"|'[^']*'|\\[\s\S]|[^\s"'\\]|["'\\])+/g) ?? []
  return words.map((word) =>
    word.replace(quoted, (_, double, single, sign) =>
      double === undefined ? (single ?? sign) : double.replace(/\\(["\\$`])/g, '$1'),
    ),
  )
}

/** Returns the quotation mark that the line opens but never closes; undefined if there is none. */
export function openQuoteOf(line: string): string | undefined {
  return /["']/.exec(line.replace(quoted, ''))?.[0]
}

const quoted = /"((?:\\[\s\S]|[^"\\])*)"|'([^']*)'|\\([\s\S])/g

export function shellQuote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
