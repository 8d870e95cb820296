// The machines of a cluster in PostgreSQL: inviting and removing them. The database's administrator makes and removes a database role for each machine. A
// machine's password never leaves it: the server gets a verifier, from which the password cannot be computed.

import { announceMachineChange, raiseFormat } from './administrator.ts'
import type { Client } from './connection.ts'
import { withBlockersEnded } from './holding.ts'
import { actAsOwner, type Credentials, dropRole, forbidLogin, inTransaction, makeRoles } from './machine-roles.ts'
import { type Parcel, sealParcel } from './parcel.ts'
import { ownerRole } from './roles.ts'

const inviteMs = 10 * 60_000

export interface InvitationOptions {
  now?: number
  /** Data for the invited machine, encrypted so that only the invitation's secret opens it. */
  parcel?: Parcel
}

/** Invites a machine, which may join within ten minutes. `client`, as in every function of this file, is the connection of somebody who may make roles. */
export function inviteMachine(
  client: Client,
  name: string,
  { now = Date.now(), parcel }: InvitationOptions = {},
): Promise<Required<Credentials>> {
  return withBlockersEnded(client, async () => {
    await dropInvitations(client)
    const until = new Date(now + inviteMs)
    const { invitation, password, former } = await inTransaction(client, async () => {
      const made = await makeRoles(client, name, until)
      await client.query(`SET LOCAL ROLE ${ownerRole}`)
      const sealed = parcel && sealParcel(made.password, parcel)
      return { ...made, former: await writeMachineRow(client, name, { ...made, sealed }, until) }
    })
    for (const role of former) await dropRole(client, role)
    return { user: invitation, password }
  })
}

/**
 * Writes the row of an invited machine. A new invitation for a name replaces an unused one. A removed machine keeps its row, because its entries refer to
 * it. Returns the roles that are no longer needed.
 */
async function writeMachineRow(
  client: Client,
  name: string,
  { role, invitation, sealed = null }: { role: string; invitation: string; sealed?: string | null },
  until: Date,
): Promise<string[]> {
  const former =
    'SELECT role, invitation, revoked_at FROM relay.machines WHERE name = $1 AND (joined_at IS NULL OR revoked_at IS NOT NULL) FOR UPDATE'
  const { rows } = await client.query(former, [name])
  const write =
    rows.length > 0
      ? 'UPDATE relay.machines SET role = $2, invitation = $3, invited_until = $4, parcel = $5 WHERE name = $1'
      : 'INSERT INTO relay.machines (name, role, invitation, invited_until, parcel) VALUES ($1, $2, $3, $4, $5)'
  await client.query(write, [name, role, invitation, until, sealed])
  if (rows.some(({ revoked_at }) => revoked_at !== null))
    await announceMachineChange(client, { type: 'machine.admitted', machine: name })
  return rows.flatMap((row) => [row.invitation, row.role].filter((each) => each !== null))
}

const isInvited = '(invitation IS NOT NULL OR invited_until IS NOT NULL)'
/** SQL for whether an invitation is over: it was used, it has expired, or an older version has made it. */
const isOver = '(invited_until IS NULL OR invited_until < clock_timestamp() OR invitation IS NULL)'

/** Drops the roles of invitations that are over, and deletes the rows of machines that never joined. Needs the right to make roles. */
export async function dropInvitations(client: Client): Promise<void> {
  const { rows } = await actAsOwner(client, () =>
    client.query(`SELECT id, role, invitation FROM relay.machines WHERE ${isInvited} AND ${isOver}`),
  )
  for (const { id, role, invitation } of rows) {
    await dropRole(client, invitation ?? role)
    const isUnused = await actAsOwner(client, async () => {
      await client.query(
        'UPDATE relay.machines SET invitation = NULL, invited_until = NULL, parcel = NULL WHERE id = $1 AND role = $2',
        [id, role],
      )
      return (await client.query('DELETE FROM relay.machines WHERE id = $1 AND joined_at IS NULL', [id])).rowCount === 1
    })
    if (isUnused) await dropRole(client, role)
  }
}

/**
 * Gives the workspace the newest format, and makes the named machine its owner. Returns the former format; undefined if there is no such workspace or
 * machine.
 */
export function giveWorkspace(client: Client, workspace: string, machine: string): Promise<number | undefined> {
  return withBlockersEnded(client, async () => {
    await dropInvitations(client)
    return actAsOwner(client, () => raiseFormat(client, workspace, machine))
  })
}

/**
 * The result of removing a machine. ok: the machine is disconnected and can no longer log in. withdrawn: the machine had not joined yet, and its invitation
 * is void. last: nothing was done, because no machine would be left.
 */
export type RevokeResult =
  | { kind: 'ok'; ended: number }
  | { kind: 'withdrawn' }
  | { kind: 'last' }
  | { kind: 'unknown' }

/**
 * Removes a machine. Ends its logins and connections before changing its rows, because a connected machine may hold locks on its own row and role.
 * Meanwhile, other machines that hold such locks are disconnected too. A repeated call ends connections that the machine has made since.
 */
export function revokeMachine(client: Client, name: string): Promise<RevokeResult> {
  return withBlockersEnded(client, () => revoke(client, name))
}

async function revoke(client: Client, name: string): Promise<RevokeResult> {
  const machines = await actAsOwner(client, () => machinesOf(client))
  const meant = machines.find((each) => each.name === name)
  if (!meant) return { kind: 'unknown' }
  if (isLast(machines, meant)) return { kind: 'last' }
  if (meant.invitation !== null) await dropRole(client, meant.invitation)
  const ended = await forbidLogin(client, meant.role)
  const isWithdrawn = meant.joined_at === null
  const isRemoved = await removeRow(client, meant)
  if (!isRemoved) await client.query(`ALTER ROLE ${client.escapeIdentifier(meant.role)} LOGIN`)
  if (!isRemoved) return { kind: 'last' }
  if (isWithdrawn) await dropRole(client, meant.role)
  await dropInvitations(client)
  return isWithdrawn ? { kind: 'withdrawn' } : { kind: 'ok', ended }
}

/** Marks the machine as removed, or deletes its row if it never joined. Returns false if no machine would be left. */
function removeRow(client: Client, meant: MachineRow): Promise<boolean> {
  return actAsOwner(client, async () => {
    // Locks all rows, so that two administrators cannot remove the last two machines at the same time.
    if (isLast(await machinesOf(client, 'FOR UPDATE'), meant)) return false
    await client.query(forgetQuestions, [meant.name])
    await client.query(meant.joined_at === null ? withdraw : remove, [meant.name])
    if (meant.joined_at !== null && meant.revoked_at === null)
      await announceMachineChange(client, { type: 'machine.revoked', machine: meant.name })
    await client.query("SELECT pg_notify('relay_presence', '')")
    return true
  })
}

interface MachineRow {
  name: string
  role: string
  invitation: string | null
  joined_at: Date | null
  revoked_at: Date | null
}

async function machinesOf(client: Client, lock = ''): Promise<MachineRow[]> {
  const { rows } = await client.query(
    `SELECT name, role, invitation, joined_at, revoked_at FROM relay.machines ORDER BY id ${lock}`,
  )
  return rows
}

/** Whether this machine is the only one that belongs to the cluster. */
function isLast(machines: readonly MachineRow[], { name }: MachineRow): boolean {
  const isThere = ({ joined_at, revoked_at }: MachineRow) => joined_at !== null && revoked_at === null
  const meant = machines.find((each) => each.name === name)
  return meant !== undefined && isThere(meant) && !machines.some((each) => each !== meant && isThere(each))
}

const withdraw = 'DELETE FROM relay.machines WHERE name = $1'
/** Deletes the questions of a removed machine: otherwise a later machine of that name could read the answers. */
const forgetQuestions = 'DELETE FROM relay.asks WHERE from_machine = (SELECT id FROM relay.machines WHERE name = $1)'
const remove =
  'UPDATE relay.machines SET revoked_at = coalesce(revoked_at, now()), invited_until = NULL, invitation = NULL, parcel = NULL WHERE name = $1'
