// The tables of a cluster in PostgreSQL as migrations, which only the owner's role runs, and the roles that they need. There is no sequence for entry
// numbers, no trigger, no extension and no replication slot, so that any PostgreSQL from version 15 on can be used, hosted ones included.

import { administratorFunctions } from './administrator.ts'
import { boundedFunctions } from './bounds.ts'
import type { Client } from './connection.ts'
import { functionsOfStep1, grantsOfStep1, sqlFunctionName } from './functions.ts'
import { holdingFunctions, withBlockersEnded } from './holding.ts'
import { joiningFunctions, joiningTables } from './joining.ts'
import { judgedFunctions, judgedInnerStatements } from './judged-functions.ts'
import { limitRoles } from './machine-roles.ts'
import { dropInvitations } from './machines.ts'
import { movingFunctions, movingFunctions2 } from './moving-functions.ts'
import { presenceNews } from './news-functions.ts'
import { ownerStatements } from './owning.ts'
import { parcelFunctions, parcelTables } from './parcel.ts'
import { plannedFunctions, plannedInnerFunctions } from './planned-functions.ts'
import { presenceFunctions, presenceTables } from './presence-functions.ts'
import { pruningFunctions } from './pruning.ts'
import { invitedRole, machineRole, ownerRole } from './roles.ts'
import { statusFunctions } from './status-functions.ts'

const tables1 = [
  `CREATE TABLE relay.machines (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$'),
    role name NOT NULL UNIQUE, boot int NOT NULL DEFAULT 0, version text,
    invited_until timestamptz, joined_at timestamptz, booted_at timestamptz, back_at timestamptz, revoked_at timestamptz)`,
  // Every append updates the workspace's row. The table leaves most of each page free, so that a new version of the row fits there and no index has to be
  // updated.
  `CREATE TABLE relay.workspaces (
    ws int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 200),
    name text NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 200), format int NOT NULL DEFAULT 1,
    head bigint NOT NULL DEFAULT 0, decided bigint NOT NULL DEFAULT 0, at bigint NOT NULL DEFAULT 0) WITH (fillfactor = 10)`,
  // The database does not look into the text of entries. Only the fields that its functions read have columns.
  `CREATE TABLE relay.journal (
    ws int NOT NULL, seq bigint NOT NULL, at bigint NOT NULL,
    by text NOT NULL CHECK (length(by) <= 300), cause text NOT NULL CHECK (length(cause) <= 1500),
    machine int NOT NULL, mark text NOT NULL, entry text NOT NULL, payload bytea, PRIMARY KEY (ws, seq))`,
  'CREATE UNIQUE INDEX journal_cause ON relay.journal (ws, cause, by)',
  `CREATE TABLE relay.keys (
    ws int NOT NULL, key text NOT NULL CHECK (length(key) <= 300), seq bigint NOT NULL, PRIMARY KEY (ws, key)) WITH (fillfactor = 60)`,
  `CREATE TABLE relay.homes (
    ws int NOT NULL, agent text NOT NULL CHECK (length(agent) <= 300), machine int NOT NULL, epoch int NOT NULL,
    PRIMARY KEY (ws, agent))`,
]

/** Returns the grants by which machines may execute functions. PostgreSQL lets everybody execute a new function, so that right is revoked first. */
const rightsOf = (names: readonly string[]) => [
  'REVOKE ALL ON ALL TABLES IN SCHEMA relay FROM PUBLIC',
  'REVOKE ALL ON ALL FUNCTIONS IN SCHEMA relay FROM PUBLIC',
  ...names.map((name) => `GRANT EXECUTE ON FUNCTION ${name} TO ${machineRole}`),
]
const rights1 = [`GRANT USAGE ON SCHEMA relay TO ${machineRole}`, ...rightsOf(grantsOfStep1)]

const snapshots = `CREATE TABLE relay.snapshots (
    ws int NOT NULL, seq bigint NOT NULL, format int NOT NULL, part int NOT NULL, bytes bytea NOT NULL, PRIMARY KEY (ws, seq, part))`
const functions2 = [...statusFunctions, ...movingFunctions, ...presenceFunctions, ...pruningFunctions]
const step2 = [snapshots, ...presenceTables, ...functions2, ...rightsOf(functions2.map(sqlFunctionName))]

const functions3 = [...administratorFunctions, ...movingFunctions2]
const step3 = [...functions3, ...rightsOf(movingFunctions2.map(sqlFunctionName))]

/**
 * A part of migration step 4: limits on invitations, on how long a machine may block the others, and on which machine may take a workspace out of the
 * cluster.
 */
const limits = [
  ...joiningTables,
  ...ownerStatements.tables,
  ...ownerStatements.replaced,
  ...boundedFunctions,
  ...ownerStatements.forMachines,
  ...holdingFunctions.inner,
  ...holdingFunctions.forMachines,
  ...joiningFunctions,
  ...rightsOf([...holdingFunctions.forMachines, ...ownerStatements.forMachines].map(sqlFunctionName)),
  ...joiningFunctions.map((sql) => `GRANT EXECUTE ON FUNCTION ${sqlFunctionName(sql)} TO ${invitedRole}`),
  `GRANT USAGE ON SCHEMA relay TO ${invitedRole}`,
  'DROP FUNCTION relay.join_1()',
]
const step4 = [
  ...limits,
  ...judgedInnerStatements,
  ...judgedFunctions,
  'DROP FUNCTION relay.create_1',
  ...rightsOf(judgedFunctions.map(sqlFunctionName)),
]
const step5 = [
  ...presenceNews.functions,
  ...presenceNews.after,
  ...rightsOf(presenceNews.functions.map(sqlFunctionName)),
]
const step6 = [
  ...parcelTables,
  ...parcelFunctions,
  ...rightsOf([]),
  ...parcelFunctions.map((sql) => `GRANT EXECUTE ON FUNCTION ${sqlFunctionName(sql)} TO ${invitedRole}`),
]
const step7 = [
  ...plannedInnerFunctions,
  ...plannedFunctions,
  ...presenceNews.after,
  ...rightsOf(plannedFunctions.map(sqlFunctionName)),
]

/** Each migration is applied once, in order. A released migration is never changed. */
export const migrations: readonly (readonly string[])[] = [
  [...tables1, ...functionsOfStep1, ...rights1],
  ...[step2, step3, step4, step5, step6, step7],
]

/**
 * The number of an advisory lock, chosen so that no other program is likely to use it. Two people who make a cluster at the same time would otherwise
 * disturb each other.
 */
const lockKey = 7_365_110

const oldestNumber = 150_000

/** Wraps a GRANT so that it is skipped if the person who makes the cluster may not grant this. */
const unlessForbidden = (statement: string) =>
  `DO $$ BEGIN ${statement}; EXCEPTION WHEN insufficient_privilege THEN NULL; END $$`

/** Lets the owner's role read statistics, which it needs to see whether a standby is synchronous. */
const mayLook = unlessForbidden(`GRANT pg_read_all_stats TO ${ownerRole}`)

/**
 * The first PostgreSQL version in which a role cannot revoke others' membership in itself. In older versions a machine could so keep the owner from ending
 * its connections, so there the owner may end anybody's.
 */
const firmRolesNumber = 160_000
const mayEnd = unlessForbidden(`GRANT pg_signal_backend TO ${ownerRole}`)

/** Changing a table waits for all transactions that use it, and all later ones wait behind the change. After this time, in ms, the change fails. */
const lockMsMax = 10_000

/**
 * Makes the roles and the schema, or brings them up to date. `client` is the connection of somebody who may make roles and schemas. Returns the machines
 * whose role could not be brought up to date.
 */
export async function migrate(client: Client): Promise<string[]> {
  const { rows: server } = await client.query("SELECT current_setting('server_version_num')::int AS number")
  if (server[0].number < oldestNumber)
    throw new Error('This PostgreSQL is too old: version 15 or a newer one is needed.')
  await client.query('BEGIN')
  await client.query(`SET LOCAL lock_timeout = ${lockMsMax}`)
  await client.query('SELECT pg_advisory_xact_lock($1)', [lockKey])
  for (const role of [ownerRole, machineRole, invitedRole]) await makeRole(client, role)
  await mustBeOurs(client)
  await client.query(`GRANT ${ownerRole} TO CURRENT_USER`)
  await client.query(mayLook)
  if (server[0].number < firmRolesNumber) await client.query(mayEnd)
  await client.query(`CREATE SCHEMA IF NOT EXISTS relay AUTHORIZATION ${ownerRole}`)
  await client.query(`SET LOCAL ROLE ${ownerRole}`)
  await client.query('CREATE TABLE IF NOT EXISTS relay.schema_info (version int NOT NULL)')
  const { rows } = await client.query('SELECT max(version) AS version FROM relay.schema_info')
  const version: number = rows[0].version ?? 0
  if (version > migrations.length)
    throw new Error(`This cluster was made by a later version (its schema is ${version}). Update Agent Relay here.`)
  for (const [i, statements] of migrations.entries()) {
    if (i < version) continue
    for (const statement of statements) await client.query(statement)
    await client.query('INSERT INTO relay.schema_info VALUES ($1)', [i + 1])
  }
  await client.query('COMMIT')
  return withBlockersEnded(client, async () => {
    const kept = await limitRoles(client)
    await dropInvitations(client)
    return kept
  })
}

/** Rights that our roles must not have. If a role of the name exists already, it may belong to another cluster on the server, or come from an attacker. */
const powers = [
  ['rolcanlogin', 'can log in'],
  ['rolsuper', 'is a superuser'],
  ['rolcreaterole', 'can make roles'],
  ['rolcreatedb', 'can make databases'],
  ['rolreplication', 'can replicate'],
  ['rolbypassrls', 'bypasses row security'],
] as const

async function makeRole(client: Client, role: string): Promise<void> {
  const { rows } = await client.query(`SELECT ${powers.map(([name]) => name)} FROM pg_roles WHERE rolname = $1`, [role])
  const [found] = rows
  if (!found) return void (await client.query(`CREATE ROLE ${role} NOLOGIN`))
  const power = powers.find(([name]) => found[name])
  if (power)
    throw new Error(
      `the role ${role} exists already and ${power[1]}, so it was not made for a cluster. Drop or rename it.`,
    )
}

/** Throws if the schema belongs to another role, which could change the functions that machines execute. */
async function mustBeOurs(client: Client): Promise<void> {
  const { rows } = await client.query(
    "SELECT pg_get_userbyid(nspowner) AS owner FROM pg_namespace WHERE nspname = 'relay'",
  )
  const [found] = rows
  if (found && found.owner !== ownerRole)
    throw new Error(
      `the schema relay exists already and belongs to ${found.owner}, not to ${ownerRole}. Drop or rename it, or use another database.`,
    )
}
