// The parser for JSON from outside, only as deep as a limit allows (internal/parse-json.ts), and one sentence for all that a schema finds wrong with a value.
// The meaning of the values is up to the schemas.

export { JsonDepthError, parseJson } from '../internal/parse-json.ts'

/** A complaint of zod about one part of a value. */
export interface SchemaIssue {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

/** The most complaints in one text: whoever fixes these is told about the rest. */
const issuesMax = 5

/** One sentence for all that is wrong with a value: `to: expected string; body: a message needs a body`. */
export function issuesText(issues: readonly SchemaIssue[]): string {
  const texts = issues.map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message))
  return texts.slice(0, issuesMax).join('; ')
}
