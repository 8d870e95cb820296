// Where text from outside becomes JSON: parsed only as deep as a limit allows (internal/parse-json.ts), and what a schema finds wrong with it said in one
// sentence. What the values mean is up to the schemas.

export { JsonDepthError, parseJson } from '../internal/parse-json.ts'

/** What zod says about one part of a value. */
export interface SchemaIssue {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

/** Whoever fixes these is told about the rest. */
const issuesMax = 5

/** One sentence for all that is wrong: `to: expected string; body: a message needs a body`. */
export function issuesText(issues: readonly SchemaIssue[]): string {
  const texts = issues.map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message))
  return texts.slice(0, issuesMax).join('; ')
}
