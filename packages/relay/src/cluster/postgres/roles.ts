// The roles that all clusters of a server share. Each machine and each invitation has a role of its own besides.

/** Owns the schema and runs the functions of machines. Nobody logs in with this role: whoever makes the cluster is a member of it. It can make no roles. */
export const ownerRole = 'relay_owner'
/** Every machine's own role is a member of this one: it may execute functions, and nothing else. */
export const machineRole = 'relay_machine'
/** Every invitation's role is a member of this one: it may execute the functions for joining, and nothing else. */
export const invitedRole = 'relay_invited'

/** The machine that a role was made for. */
export function nameOfRole(user: string): string | undefined {
  return /^relay_(.+)_[0-9a-f]{8}(?:_invited)?$/.exec(user)?.[1]
}
