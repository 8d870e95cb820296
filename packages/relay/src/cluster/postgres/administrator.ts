// What the administrator of the database tells all machines, as entries of the journals of shared workspaces: which machines are removed and
// admitted. Machines do not judge these entries, which they know by their mark. No machine can make one.

import type { MachineFact } from '@agent-relay/sdk/protocol'
import { keys } from '../../core/conflict-keys.ts'
import { administratorMark } from '../../core/journal.ts'
import type { Client } from './connection.ts'

/** In every workspace whose format knows such facts. Answers in how many that was. The owner alone may execute it. */
const proclaim = `CREATE FUNCTION relay.proclaim_1(p_machine text, p_facts json) RETURNS int LANGUAGE plpgsql AS $$
DECLARE w relay.workspaces; v_mark text; v_at bigint; v_machine int; v_count int := 0;
BEGIN
  SELECT id INTO STRICT v_machine FROM relay.machines WHERE name = p_machine;
  FOR w IN SELECT * FROM relay.workspaces WHERE format > 1 ORDER BY ws FOR NO KEY UPDATE LOOP
    v_mark := '${administratorMark}' || left(replace(gen_random_uuid()::text, '-', ''), 16);
    v_at := greatest(w.at, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    INSERT INTO relay.journal (ws, seq, at, by, cause, machine, mark, entry) VALUES (w.ws, w.head + 1, v_at, 'agent-relay', v_mark, v_machine,
      v_mark, json_build_object('rule', 'cluster.proclaim', 'outcome', '{}'::json, 'facts', p_facts)::text);
    UPDATE relay.workspaces SET head = w.head + 1, decided = w.head + 1, at = v_at WHERE ws = w.ws;
    INSERT INTO relay.keys (ws, key, seq) VALUES (w.ws, '${keys.machines}', w.head + 1) ON CONFLICT (ws, key) DO UPDATE SET seq = excluded.seq;
    PERFORM pg_notify('relay_' || w.ws, (w.head + 1) || ' 0');
    v_count := v_count + 1;
  END LOOP;
  RETURN v_count;
END $$`

export const administratorFunctions = [proclaim]

/** `client` acts as the owner of the schema, inside a transaction. */
export async function tellMachines(client: Client, fact: MachineFact & { machine: string }): Promise<void> {
  await client.query('SELECT relay.proclaim_1($1, $2)', [fact.machine, JSON.stringify([fact])])
}
