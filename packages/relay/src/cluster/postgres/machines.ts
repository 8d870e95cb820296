// The machines of a cluster in PostgreSQL: each has a role of its own, made by whoever administers the database and removed the same way. No
// secret of a machine ever leaves it: what it tells the server is a verifier, from which the password cannot be computed.

import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import { tellMachines } from './administrator.ts'
import { type Client, LoginRefused, type ServerAddress, withClient } from './connection.ts'
import { machineRole, ownerRole } from './schema.ts'

/** As PostgreSQL's own clients do. */
const iterations = 4_096
const inviteMs = 10 * 60_000
/** So long the end of one connection is waited for, and so often it is looked for others. */
const [endMs, looksMax] = [1_000, 5]
/** So long the lock on a role is waited for, and so often that is tried. */
const [lockMs, triesMax] = [100, 20]

/** What a machine logs in with. */
export type Credentials = Pick<ServerAddress, 'user' | 'password'>

/** Whom a role was made for. */
export function nameOfRole(user: string): string | undefined {
  return /^relay_(.+)_[0-9a-f]{8}$/.exec(user)?.[1]
}

/** A machine that may take its place until then. `client` belongs to somebody who may make roles; so in all that follows. */
export async function inviteMachine(client: Client, name: string, now = Date.now()): Promise<Required<Credentials>> {
  // Roles are common to all databases of a server, names of machines are not.
  const user = `relay_${name}_${randomBytes(4).toString('hex')}`
  const password = randomBytes(18).toString('base64url')
  await transact(client, async () => {
    await client.query(
      `CREATE ROLE ${client.escapeIdentifier(user)} LOGIN PASSWORD ${client.escapeLiteral(verifierOf(password))}`,
    )
    await client.query(`GRANT ${machineRole} TO ${client.escapeIdentifier(user)}`)
    await client.query(`SET LOCAL ROLE ${ownerRole}`)
    // An invitation that nobody took is replaced by the next one for the name. A machine that was removed keeps its row: what it wrote names it.
    const former =
      'SELECT role, revoked_at FROM relay.machines WHERE name = $1 AND (joined_at IS NULL OR revoked_at IS NOT NULL) FOR UPDATE'
    const { rows } = await client.query(former, [name])
    const write =
      rows.length > 0
        ? 'UPDATE relay.machines SET role = $2, invited_until = $3 WHERE name = $1'
        : 'INSERT INTO relay.machines (name, role, invited_until) VALUES ($1, $2, $3)'
    await client.query(write, [name, user, new Date(now + inviteMs)])
    if (rows.some(({ revoked_at }) => revoked_at !== null))
      await tellMachines(client, { type: 'machine.admitted', machine: name })
    await client.query('RESET ROLE')
    for (const { role } of rows) await client.query(`DROP ROLE ${client.escapeIdentifier(role)}`)
  })
  return { user, password }
}

/** On the machine itself: it takes its place, and changes the password of the invitation for one that nobody else has seen. */
export async function joinCluster(invitation: ServerAddress): Promise<Credentials & { machine: string }> {
  const password = randomBytes(24).toString('base64url')
  return withClient(invitation, async (client) => {
    const machine = await transact(client, async () => {
      const { rows } = await client.query('SELECT relay.join_1() AS name')
      if (rows[0].name === null) throw new LoginRefused('this invitation was used before, or has expired')
      await client.query(`ALTER ROLE CURRENT_USER PASSWORD ${client.escapeLiteral(verifierOf(password))}`)
      return rows[0].name as string
    })
    return { user: invitation.user, password, machine }
  })
}

/** ok: it can neither log in nor go on. withdrawn: it had not come yet, and cannot any more. last: nobody would be left. */
export type Revoked = { kind: 'ok'; ended: number } | { kind: 'withdrawn' } | { kind: 'last' } | { kind: 'unknown' }

/**
 * First the machine is thrown out, and only then are rows taken: it may hold locks on them, also those of its own row and role, for as long as
 * it is connected. Asked again it ends what the machine may hold by then.
 */
export async function revokeMachine(client: Client, name: string): Promise<Revoked> {
  const machines = await actAsOwner(client, () => machinesOf(client))
  const meant = machines.find((each) => each.name === name)
  if (!meant) return { kind: 'unknown' }
  if (isLast(machines, meant)) return { kind: 'last' }
  const ended = await asMember(client, meant.role, () => throwOut(client, meant.role))
  const isWithdrawn = meant.joined_at === null
  const isRemoved = await actAsOwner(client, async () => {
    // All rows, so that two who remove each other's machine at once do not leave none.
    if (isLast(await machinesOf(client, 'FOR UPDATE'), meant)) return false
    await client.query(isWithdrawn ? withdraw : remove, [name])
    if (!isWithdrawn && meant.revoked_at === null)
      await tellMachines(client, { type: 'machine.revoked', machine: name })
    await client.query("SELECT pg_notify('relay_presence', '')")
    return true
  })
  const role = client.escapeIdentifier(meant.role)
  if (!isRemoved) await client.query(`ALTER ROLE ${role} LOGIN`)
  if (!isRemoved) return { kind: 'last' }
  if (!isWithdrawn) return { kind: 'ok', ended }
  // Whatever it has made, such as large objects, goes with it.
  await asMember(client, meant.role, () => client.query(`DROP OWNED BY ${role}`))
  await client.query(`DROP ROLE ${role}`)
  return { kind: 'withdrawn' }
}

interface MachineRow {
  name: string
  role: string
  joined_at: Date | null
  revoked_at: Date | null
}

async function machinesOf(client: Client, lock = ''): Promise<MachineRow[]> {
  const { rows } = await client.query(
    `SELECT name, role, joined_at, revoked_at FROM relay.machines ORDER BY id ${lock}`,
  )
  return rows
}

/** Nobody would be left. */
function isLast(machines: readonly MachineRow[], { name }: MachineRow): boolean {
  const isThere = ({ joined_at, revoked_at }: MachineRow) => joined_at !== null && revoked_at === null
  const meant = machines.find((each) => each.name === name)
  return meant !== undefined && isThere(meant) && !machines.some((each) => each !== meant && isThere(each))
}

const withdraw = 'DELETE FROM relay.machines WHERE name = $1'
const remove =
  'UPDATE relay.machines SET revoked_at = coalesce(revoked_at, now()), invited_until = NULL WHERE name = $1'

/** Who may make roles is not for that a member of them, and only a member may end their sessions and drop what they own. */
async function asMember<T>(client: Client, role: string, work: () => Promise<T>): Promise<T> {
  const { rows } = await client.query("SELECT pg_has_role(current_user, $1, 'USAGE') AS may", [role])
  const name = client.escapeIdentifier(role)
  if (rows[0].may) return work()
  await client.query(`GRANT ${name} TO CURRENT_USER`)
  try {
    return await work()
  } finally {
    await client.query(`REVOKE ${name} FROM CURRENT_USER`)
  }
}

/** It can log in no more, and nothing of it is connected. Answers how many connections that were. */
async function throwOut(client: Client, role: string): Promise<number> {
  let ended = 0
  for (let tries = 1; ; tries++) {
    ended += await endSessions(client, role)
    try {
      // The role may be changing itself, in a transaction of a connection that came meanwhile.
      await client.query(`SET lock_timeout = ${lockMs}`)
      await client.query(`ALTER ROLE ${client.escapeIdentifier(role)} NOLOGIN`)
      break
    } catch (error) {
      if (tries === triesMax) throw error
    } finally {
      await client.query('RESET lock_timeout')
    }
  }
  return ended + (await endSessions(client, role))
}

async function endSessions(client: Client, role: string): Promise<number> {
  const text = 'SELECT pg_terminate_backend(pid, $2) FROM pg_stat_activity WHERE usename = $1'
  let ended = 0
  // One that was just being let in is seen by the next look.
  for (let looks = 0; looks < looksMax; looks++) {
    const found = (await client.query(text, [role, endMs])).rowCount ?? 0
    if (found === 0 && looks > 0) break
    ended += found
  }
  return ended
}

/** In one transaction, with the rights of the owner of the tables. */
export function actAsOwner<T>(client: Client, work: () => Promise<T>): Promise<T> {
  return transact(client, async () => {
    await client.query(`SET LOCAL ROLE ${ownerRole}`)
    return work()
  })
}

async function transact<T>(client: Client, work: () => Promise<T>): Promise<T> {
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

/** What the server keeps instead of a password (RFC 5803). */
export function verifierOf(password: string): string {
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256')
  const keyed = (text: string) => createHmac('sha256', salted).update(text).digest()
  const stored = createHash('sha256').update(keyed('Client Key')).digest('base64')
  const served = keyed('Server Key').toString('base64')
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${stored}:${served}`
}
