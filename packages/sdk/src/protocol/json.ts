// Parses JSON from outside with a limit for its depth (internal/parse-json.ts), and puts all that a schema finds wrong with a value into one sentence. What the
// values mean is up to the schemas.

export { JsonDepthError, parseJson } from '../internal/parse-json.ts'

/** What zod finds wrong with one part of a value. */
export interface SchemaIssue {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

/** The most issues in one text: after these are fixed, the next check names the rest. */
const issuesMax = 5

/** Puts all issues of a value into one sentence: `to: expected string; body: a message needs a body`. */
export function issuesText(issues: readonly SchemaIssue[]): string {
  const texts = issues.map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message))
  return texts.slice(0, issuesMax).join('; ')
}
