// The roles that all clusters of a server share. Each machine has one of its own besides, and so has each invitation.

/** Owns the schema, and runs what machines may execute. Nobody logs in as it: who makes the cluster is a member. It can make no roles. */
export const ownerRole = 'relay_owner'
/** What every machine's own role is a member of: it may execute functions, and nothing else. */
export const machineRole = 'relay_machine'
/** What the role of every invitation is a member of: it may execute what lets its machine join, and nothing else. */
export const invitedRole = 'relay_invited'

/** The machine that a role was made for. */
export function nameOfRole(user: string): string | undefined {
  return /^relay_(.+)_[0-9a-f]{8}(?:_invited)?$/.exec(user)?.[1]
}
