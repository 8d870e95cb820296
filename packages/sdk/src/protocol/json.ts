// Parses JSON from outside with a limit for its depth (internal/parse-json.ts), and joins all errors that a schema finds in a value into one sentence.

export { JsonDepthError, parseJson } from '../internal/parse-json.ts'

/** An error that zod has found in one part of a value. */
export interface SchemaIssue {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

/** Maximum number of errors in one sentence. Once these are fixed, the next check reports the rest. */
const issuesMax = 5

/** Joins the errors of a value into one sentence: `to: expected string; body: a message needs a body`. */
export function issuesText(issues: readonly SchemaIssue[]): string {
  const texts = issues.map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message))
  return texts.slice(0, issuesMax).join('; ')
}
