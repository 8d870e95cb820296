// How an invited machine joins the cluster. Each invitation has a database role, with which the server accepts a login for ten minutes; a role cannot extend
// that time itself. The role of the machine has no password until the machine sets one.

import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type Client, isLoginRefused, LoginRefused, type ServerAddress, withClient } from './connection.ts'
import { machineFunctionAttributes } from './functions.ts'
import { type Credentials, inTransaction, scramVerifierOf } from './machine-roles.ts'
import { type Parcel, takeParcel } from './parcel.ts'

export { machineOfRole } from './roles.ts'

/** Adds a column for the role of a machine's invitation. It is NULL if the machine has no open invitation. */
export const joiningTables = ['ALTER TABLE relay.machines ADD COLUMN invitation name UNIQUE']

/**
 * Makes an invited machine a member of the cluster, if the invitation is unused and has not expired. Removed machines may be invited again. From here on,
 * the invitation's role may act as the machine's role, to set the machine's password. Uses `clock_timestamp()`, because `now()` is the time at which the
 * transaction began, which may be long ago.
 */
const join = `CREATE FUNCTION relay.join_2() RETURNS TABLE (machine text, role name) LANGUAGE plpgsql ${machineFunctionAttributes} AS $$
DECLARE m relay.machines;
BEGIN
  UPDATE relay.machines o SET joined_at = now(), invited_until = NULL, revoked_at = NULL
    WHERE o.invitation = session_user AND o.invited_until > clock_timestamp() RETURNING * INTO m;
  IF m.id IS NULL THEN RETURN; END IF;
  EXECUTE format('GRANT %I TO %I', m.role, m.invitation);
  RETURN QUERY SELECT m.name, m.role;
END $$`

/** Ends the right of the invitation's role to act as the machine's role. Called once the machine has a password. */
const joined = `CREATE FUNCTION relay.joined_2() RETURNS void LANGUAGE plpgsql ${machineFunctionAttributes} AS $$
DECLARE m relay.machines;
BEGIN
  SELECT * INTO STRICT m FROM relay.machines o WHERE o.invitation = session_user AND o.invited_until IS NULL;
  EXECUTE format('REVOKE %I FROM %I', m.role, m.invitation);
END $$`

export const joiningFunctions = [join, joined]

/** Thrown if the answer to the last statement was lost and the server cannot be reached: the machine may have joined, with a password that is lost now. */
export class JoinOutcomeUnknown extends Error {}

const [triesMax, tryMs] = [5, 1_000]

/** Joins this machine to the cluster, with a new random password that never leaves this machine. */
export async function joinCluster(
  invitation: ServerAddress,
): Promise<Credentials & { machine: string; parcel?: Parcel }> {
  const password = randomBytes(24).toString('base64url')
  let place: { machine: string; role: string } | undefined
  let parcel: Parcel | undefined
  try {
    await withClient(invitation, (client) =>
      inTransaction(client, async () => {
        parcel = await takeParcel(client, invitation.password as string)
        const found = await takePlace(client, password)
        place = found
      }),
    )
  } catch (error) {
    if (!place || !(await hasJoined({ ...invitation, user: place.role, password }))) throw error
  }
  const { machine, role: user } = place as NonNullable<typeof place>
  return { user, password, machine, ...(parcel ? { parcel } : {}) }
}

async function takePlace(client: Client, password: string): Promise<{ machine: string; role: string }> {
  const { rows } = await client.query('SELECT * FROM relay.join_2()')
  if (rows.length === 0) throw new LoginRefused('this invitation was used before, or has expired')
  await client.query(`SET LOCAL ROLE ${client.escapeIdentifier(rows[0].role)}`)
  await client.query(`ALTER ROLE CURRENT_USER PASSWORD ${client.escapeLiteral(scramVerifierOf(password))}`)
  await client.query('RESET ROLE')
  await client.query('SELECT relay.joined_2()')
  return rows[0]
}

/** Whether the server accepts the new password. Asked if the answer to the join was lost. */
async function hasJoined(address: ServerAddress): Promise<boolean> {
  for (let tries = 1; ; tries++) {
    try {
      await withClient(address, async () => {})
      return true
    } catch (error) {
      if (isLoginRefused(error, address)) return false
      if (tries === triesMax) throw new JoinOutcomeUnknown((error as Error).message)
    }
    await pause(tryMs)
  }
}
