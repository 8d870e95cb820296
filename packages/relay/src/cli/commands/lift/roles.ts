// Parses and checks the roles of a lift, as the option `--roles` names them.

import { agentNamePattern, daemonName } from '@agent-relay/sdk/protocol'
import { CommandError, exitCodes } from '../../command.ts'

export const defaultRoles = 'pm,dev-a,dev-b'
/** Maximum number of roles: more panes do not fit on a screen. */
const rolesMax = 12

export function parseRoles(text: string = defaultRoles): string[] {
  const names = text.split(',').map((name) => name.trim())
  const bad = names.find((name) => !agentNamePattern.test(name) || name === daemonName)
  if (bad !== undefined)
    throw usage(
      `"${bad}" is not a valid role name: 1 to 64 letters, digits, ".", "_" or "-", starting with a letter or digit`,
    )
  if (new Set(names).size < names.length) throw usage('each role is named once')
  if (names.length < 2 || names.length > rolesMax) throw usage(`a lift has 2 to ${rolesMax} roles`)
  return names
}

export function checkRole(role: string, roles: readonly string[]): void {
  if (!roles.includes(role))
    throw new CommandError(
      `There is no role "${role}"; there are ${roles.join(', ')}. Others are named with --roles.`,
      exitCodes.usage,
    )
}

function usage(why: string): CommandError {
  return new CommandError(`--roles: ${why}. For instance: --roles ${defaultRoles}`, exitCodes.usage)
}
