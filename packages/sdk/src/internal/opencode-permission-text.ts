// The text of opencode's permission requests for a person, made from the event that opencode sends to us (from its server) and to our plugin.

import { permissionText } from './permission-text.ts'

/** Returns the text of a permission request: an edit's diff, a command with its tool's whole input, any other request with its patterns too. */
export function opencodePermissionText(
  { permission, patterns, metadata }: Record<string, unknown>,
  input: unknown,
): string {
  if (permission === 'edit') return permissionText({ input: metadata })
  const matched = permission === 'bash' || !Array.isArray(patterns) ? [] : patterns.map(String)
  return [...matched, permissionText({ input: input ?? metadata })].join('\n')
}
