// The database roles of machines and invitations: making, limiting and dropping them, and ending their connections. All of this needs the right to make
// roles (CREATEROLE).

import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import type { Client, ServerAddress } from './connection.ts'
import { invitedRole, machineRole, ownerRole } from './roles.ts'

/** Iterations of the password hash: the number that PostgreSQL's own clients use. */
const iterations = 4_096
/** How long to wait, in ms, for the end of a connection, and how often to look for further connections. */
const [endMs, looksMax] = [1_000, 5]
/** How long one try waits, in ms, for the lock on a role, and the maximum number of tries. */
const [lockMs, triesMax] = [100, 20]

/**
 * Maximum number of connections of a machine's role. A daemon has two, a third while it is blocked, and one more for each command of a person. When a
 * connection was cut, the server takes some time to notice, so that the two old connections still count besides the new ones.
 */
const connectionsMax = 10
const invitationConnectionsMax = 2

/** A machine's login: its role and password. */
export type Credentials = Pick<ServerAddress, 'user' | 'password'>

/** A new role for a machine, with which nobody can log in yet, and the role of the machine's invitation. */
export interface NewRoles {
  role: string
  invitation: string
  /** The password of the invitation's role. */
  password: string
}

/**
 * Makes both roles, inside a transaction. The owner of the schema becomes a member of both, to end their connections, and to let the invitation's role act
 * as the machine's role while the machine joins.
 */
export async function makeRoles(client: Client, name: string, until: Date): Promise<NewRoles> {
  // Roles are shared by all databases of a server, but names of machines are not: a random part makes the role's name unique.
  const role = `relay_${name}_${randomBytes(4).toString('hex')}`
  const invitation = `${role}_invited`
  const password = randomBytes(18).toString('base64url')
  const [machine, invited] = [role, invitation].map((each) => client.escapeIdentifier(each))
  const secret = `PASSWORD ${client.escapeLiteral(scramVerifierOf(password))} VALID UNTIL ${client.escapeLiteral(until.toISOString())}`
  await client.query(`CREATE ROLE ${machine} LOGIN CONNECTION LIMIT ${connectionsMax}`)
  await client.query(`GRANT ${machineRole} TO ${machine}`)
  await client.query(`GRANT ${machine} TO ${ownerRole} WITH ADMIN OPTION`)
  await client.query(`CREATE ROLE ${invited} LOGIN CONNECTION LIMIT ${invitationConnectionsMax} ${secret}`)
  await client.query(`GRANT ${invitedRole} TO ${invited}`)
  await client.query(`GRANT ${invited} TO ${ownerRole}`)
  return { role, invitation, password }
}

/**
 * Applies the present limits to roles that an older version has made. Returns the machines whose role another administrator has made: those roles stay
 * unchanged.
 */
export async function limitRoles(client: Client): Promise<string[]> {
  const { rows } = await actAsOwner(client, () =>
    client.query(
      `SELECT name, role, pg_has_role('${ownerRole}', role, 'MEMBER WITH ADMIN OPTION') AS is_ours
      FROM relay.machines JOIN pg_roles ON rolname = role WHERE joined_at IS NOT NULL AND revoked_at IS NULL`,
    ),
  )
  const kept: string[] = []
  for (const { name: machine, role, is_ours: isOurs } of rows) {
    const name = client.escapeIdentifier(role)
    const isLimited = await unlessForbidden(async () => {
      await client.query(`ALTER ROLE ${name} CONNECTION LIMIT ${connectionsMax}`)
      if (!isOurs) await client.query(`GRANT ${name} TO ${ownerRole} WITH ADMIN OPTION`)
    })
    if (!isLimited) kept.push(machine)
  }
  return kept
}

const [forbidden, unknown, needed] = ['42501', '42704', '2BP01']

async function unlessForbidden(work: () => Promise<void>, ...others: string[]): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    if (![forbidden, unknown, ...others].includes((error as { code?: string }).code ?? '')) throw error
    return false
  }
}

/**
 * Drops a role with everything that it has made, such as large objects. If the role owns something in another database it remains, but nobody can log in
 * with it.
 */
export async function dropRole(client: Client, role: string): Promise<void> {
  const name = client.escapeIdentifier(role)
  await unlessForbidden(async () => {
    await forbidLogin(client, role)
    await asMember(client, role, () => client.query(`DROP OWNED BY ${name}`))
    await client.query(`DROP ROLE ${name}`)
  }, needed)
}

/**
 * Makes the caller a member of the role while the work runs. Ending a role's sessions and dropping its objects needs membership; the right to make roles
 * does not include that.
 */
async function asMember<T>(client: Client, role: string, work: () => Promise<T>): Promise<T> {
  const { rows } = await client.query("SELECT pg_has_role(current_user, $1, 'USAGE') AS may", [role])
  const name = client.escapeIdentifier(role)
  if (rows[0].may) return work()
  await client.query(`GRANT ${name} TO CURRENT_USER`)
  try {
    return await work()
  } finally {
    await client.query(`REVOKE ${name} FROM CURRENT_USER`).catch(() => {})
  }
}

/** Forbids logins of the role, and closes its connections. Returns how many were closed. */
export function forbidLogin(client: Client, role: string): Promise<number> {
  return asMember(client, role, async () => {
    let ended = 0
    for (let tries = 1; ; tries++) {
      try {
        await client.query(`SET lock_timeout = ${lockMs}`)
        await client.query(`ALTER ROLE ${client.escapeIdentifier(role)} NOLOGIN`)
        break
      } catch (error) {
        if (tries === triesMax) throw error
      } finally {
        await client.query('RESET lock_timeout')
      }
      // A transaction of the role itself may hold the lock on the role's row, so its sessions are ended.
      ended += await endSessions(client, role)
    }
    return ended + (await endSessions(client, role))
  })
}

async function endSessions(client: Client, role: string): Promise<number> {
  const text = 'SELECT pg_terminate_backend(pid, $2) FROM pg_stat_activity WHERE usename = $1'
  let ended = 0
  // Looks again, for connections that were logging in during the first look.
  for (let looks = 0; looks < looksMax; looks++) {
    const found = (await client.query(text, [role, endMs])).rowCount ?? 0
    if (found === 0 && looks > 0) break
    ended += found
  }
  return ended
}

/** Runs the work in one transaction, with the rights of the owner of the tables. */
export function actAsOwner<T>(client: Client, work: () => Promise<T>): Promise<T> {
  return inTransaction(client, async () => {
    await client.query(`SET LOCAL ROLE ${ownerRole}`)
    return work()
  })
}

export async function inTransaction<T>(client: Client, work: () => Promise<T>): Promise<T> {
  await client.query('BEGIN')
  try {
    const done = await work()
    await client.query('COMMIT')
    return done
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

/** Makes a SCRAM verifier (RFC 5803), which the server stores instead of a password. */
export function scramVerifierOf(password: string): string {
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256')
  const keyed = (text: string) => createHmac('sha256', salted).update(text).digest()
  const stored = createHash('sha256').update(keyed('Client Key')).digest('base64')
  const served = keyed('Server Key').toString('base64')
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${stored}:${served}`
}
