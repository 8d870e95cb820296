// The text of opencode's permission requests for a person, from the event by which its server and our plugin in it learn of one.

import { permissionText } from './permission-text.ts'

/** A change by its diff, a command with all that its tool was given, others with the patterns too. */
export function opencodeText({ permission, patterns, metadata }: Record<string, unknown>, input: unknown): string {
  if (permission === 'edit') return permissionText({ input: metadata })
  const matched = permission === 'bash' || !Array.isArray(patterns) ? [] : patterns.map(String)
  return [...matched, permissionText({ input: input ?? metadata })].join('\n')
}
