// The text in which a person is shown a permission request of opencode, made from the event that opencode's server and our plugin receive.

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
