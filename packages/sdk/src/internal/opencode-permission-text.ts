// The text of opencode's permission requests for a person, made from the event that opencode sends to us (from its server) and to our plugin.

import { permissionText } from './permission-text.ts'

/**
 * Returns the text of a permission request: for an edit, its diff; for a command, the tool's whole input; for other requests, also the patterns that they
 * contain.
 */
export function opencodePermissionText(
  { permission, patterns, metadata }: Record<string, unknown>,
  input: unknown,
): string {
  if (permission === 'edit') return permissionText({ input: metadata })
  const matched = permission === 'bash' || !Array.isArray(patterns) ? [] : patterns.map(String)
  return [...matched, permissionText({ input: input ?? metadata })].join('\n')
}
