// Entries that the administrator of the database writes into the journals of shared workspaces: about removed and readmitted machines, and about a
// workspace's format and owner machine. Machines recognize these entries by their mark and trust them without a check: only the database can write that
// mark.

import type { MachineAdmitted, MachineRevoked } from '@agent-relay/sdk/protocol'
import { conflictKeys } from '../../core/conflict-keys.ts'
import { administratorMark } from '../../core/journal.ts'
import { newestSharedFormat, sharingBeginFacts } from '../../core/workspaces.ts'
import type { Client } from './connection.ts'

/**
 * Appends an entry of the database's administrator to a workspace's journal. Only the owner of the schema may execute this SQL function and the others in
 * this file.
 */
const proclaim = `CREATE FUNCTION relay.proclaim_1(p_ws int, p_machine int, p_facts json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE w relay.workspaces; v_mark text := '${administratorMark}' || left(replace(gen_random_uuid()::text, '-', ''), 16); v_at bigint;
BEGIN
  SELECT * INTO STRICT w FROM relay.workspaces WHERE ws = p_ws FOR NO KEY UPDATE;
  v_at := greatest(w.at, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
  INSERT INTO relay.journal (ws, seq, at, by, cause, machine, mark, entry) VALUES (w.ws, w.head + 1, v_at, 'agent-relay', v_mark, p_machine,
    v_mark, json_build_object('rule', 'cluster.proclaim', 'outcome', '{}'::json, 'facts', p_facts)::text);
  UPDATE relay.workspaces SET head = w.head + 1, decided = w.head + 1, at = v_at WHERE ws = w.ws;
  INSERT INTO relay.keys (ws, key, seq) VALUES (w.ws, '${conflictKeys.machines}', w.head + 1) ON CONFLICT (ws, key) DO UPDATE SET seq = excluded.seq;
  PERFORM pg_notify('relay_' || w.ws, (w.head + 1) || ' 0');
END $$`

/** Appends an entry with these facts to the journal of every workspace whose format has such facts. */
const tell = `CREATE FUNCTION relay.tell_1(p_machine text, p_facts json) RETURNS void LANGUAGE sql AS $$
  SELECT relay.proclaim_1(w.ws, (SELECT id FROM relay.machines WHERE name = p_machine), p_facts) FROM relay.workspaces w WHERE format > 1 ORDER BY ws
$$`

/** Raises a workspace's format and names its owner machine. Returns the former format; NULL if there is no such workspace or machine. */
const raise = `CREATE FUNCTION relay.raise_1(p_workspace text, p_machine text, p_format int, p_facts json) RETURNS int LANGUAGE plpgsql AS $$
DECLARE w relay.workspaces; m relay.machines;
BEGIN
  SELECT * INTO m FROM relay.machines WHERE name = p_machine AND joined_at IS NOT NULL AND revoked_at IS NULL;
  SELECT * INTO w FROM relay.workspaces WHERE name = p_workspace AND format > 0 AND format <= p_format FOR NO KEY UPDATE;
  IF m.id IS NULL OR w.ws IS NULL THEN RETURN NULL; END IF;
  UPDATE relay.workspaces SET format = p_format WHERE ws = w.ws;
  PERFORM relay.proclaim_1(w.ws, m.id, p_facts);
  RETURN w.format;
END $$`

export const administratorFunctions = [proclaim, tell, raise]

/** Writes into every workspace's journal that a machine was removed or admitted again. `client` acts as the owner of the schema, inside a transaction. */
export async function announceMachineChange(client: Client, fact: MachineRevoked | MachineAdmitted): Promise<void> {
  await client.query('SELECT relay.tell_1($1, $2)', [fact.machine, JSON.stringify([fact])])
}

/** Gives the workspace the newest format, and makes the named machine its owner. Returns the former format. `client` acts as the owner of the schema. */
export async function raiseFormat(client: Client, workspace: string, machine: string): Promise<number | undefined> {
  const values = [workspace, machine, newestSharedFormat, JSON.stringify(sharingBeginFacts(machine))]
  const { rows } = await client.query('SELECT relay.raise_1($1, $2, $3, $4) AS format', values)
  return rows[0].format ?? undefined
}
