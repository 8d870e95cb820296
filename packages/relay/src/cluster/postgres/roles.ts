// The database roles that all clusters of a server share. In addition, each machine and each invitation has its own role.

/**
 * The role that owns the schema, and with whose rights the functions for machines run. Nobody logs in with it: the person who makes the cluster is a member
 * of it. It cannot make roles.
 */
export const ownerRole = 'relay_owner'
/** The role for machines. Each machine's own role is a member of it. It may execute the functions for machines, and nothing else. */
export const machineRole = 'relay_machine'
/** The role for invitations. Each invitation's own role is a member of it. It may execute the functions for joining, and nothing else. */
export const invitedRole = 'relay_invited'

/** Returns the machine for which a role was made; undefined for any other role. */
export function machineOfRole(user: string): string | undefined {
  return /^relay_(.+)_[0-9a-f]{8}(?:_invited)?$/.exec(user)?.[1]
}
