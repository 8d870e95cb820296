// What the daemons of a cluster in PostgreSQL tell each other besides the journal: who is there, and small questions with an answer.

import type { PostgresCluster } from './postgres-cluster.ts'

/** Who is there on one machine, as its daemon has said it last. */
export interface Told {
  workspace: string
  machine: string
  /** How long ago that daemon was heard of. */
  seenMs: number
  /** '': as before. */
  agents: string
  /** It is no machine of the cluster any more. */
  removed: boolean
}

/** Of this machine: '' where nothing has changed. */
export interface Here {
  workspace: string
  agents: string
}

/** `stamp`: of the answer before, or 0 to hear of everybody. Answers who has said something new since then, is late, or was removed. */
export function tellPresence(
  cluster: PostgresCluster,
  stamp: number,
  here: readonly Here[],
): Promise<{ stamp: number; told: Told[] }> {
  return cluster.asReader(async (client, boot) => {
    const text = 'SELECT * FROM relay.present_2($1, $2, $3)'
    const { rows } = await client.query(text, [boot, stamp, JSON.stringify(here)])
    // No row at all: this machine has no say any more, and hears so when it writes.
    const [head, ...told] = rows
    return {
      stamp: Number(head?.stamp ?? 0),
      told: told.map(({ workspace, machine, seen_ms: seenMs, agents, removed }) => {
        return { workspace, machine, seenMs: Number(seenMs), agents, removed }
      }),
    }
  })
}

/** A question of another machine, or to one. */
export interface Question {
  id: string
  workspace: string
  machine: string
  /** JSON. */
  input: string
}

/** False: there is no such machine. */
export function put(
  cluster: PostgresCluster,
  { id, workspace, machine, input }: Question,
  ms: number,
): Promise<boolean> {
  return cluster.asReader(async (client, boot) => {
    const values = [boot, workspace, id, machine, input, ms]
    return (await client.query('SELECT relay.ask_1($1, $2, $3, $4, $5, $6) AS is', values)).rows[0].is === true
  })
}

/** Those that this machine is asked and has not answered. */
export function asked(cluster: PostgresCluster): Promise<Question[]> {
  return cluster.asReader(async (client, boot) => (await client.query('SELECT * FROM relay.asked_1($1)', [boot])).rows)
}

export function answer(cluster: PostgresCluster, id: string, text: string): Promise<void> {
  return cluster.asReader(
    async (client, boot) => void (await client.query('SELECT relay.answer_1($1, $2, $3)', [boot, id, text])),
  )
}

/** Undefined: there is none yet. */
export function answerTo(cluster: PostgresCluster, id: string): Promise<string | undefined> {
  return cluster.asReader(async (client) => {
    return (await client.query('SELECT relay.answered_1($1) AS answer', [id])).rows[0].answer ?? undefined
  })
}
