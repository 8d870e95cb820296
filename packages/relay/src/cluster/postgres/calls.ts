// Messages between the daemons of a cluster in PostgreSQL, besides the journal: presence (which agents are connected), and small questions with an answer.

import type { PostgresCluster } from './postgres-cluster.ts'

/** The presence of one machine in one workspace, as that machine's daemon last told it. */
export interface MachinePresence {
  workspace: string
  machine: string
  /** How long ago the machine's daemon was last heard of, in ms. */
  seenMs: number
  /** The agents as JSON; '' if they are unchanged. */
  agents: string
  /** Whether the machine no longer belongs to the cluster. */
  removed: boolean
}

/** The presence of this machine: the agents as JSON. `agents` is '' if nothing has changed. */
export interface OwnPresence {
  workspace: string
  agents: string
}

/**
 * Tells this machine's presence, and returns the machines that have news since `stamp`, are late, or were removed. `stamp`: from the previous answer, or
 * 0 to hear of everybody.
 */
export function tellPresence(
  cluster: PostgresCluster,
  stamp: number,
  here: readonly OwnPresence[],
): Promise<{ stamp: number; told: MachinePresence[] }> {
  return cluster.asReader(async (client, boot) => {
    const text = 'SELECT * FROM relay.present_2($1, $2, $3)'
    const { rows } = await client.query(text, [boot, stamp, JSON.stringify(here)])
    // No row at all means that this machine was removed, or that a later daemon uses its identity; its next write fails with the reason.
    const [head, ...told] = rows
    return {
      stamp: Number(head?.stamp ?? 0),
      told: told.map(({ workspace, machine, seen_ms: seenMs, agents, removed }) => {
        return { workspace, machine, seenMs: Number(seenMs), agents, removed }
      }),
    }
  })
}

/** A question from another machine, or to another machine (`machine`). */
export interface Question {
  id: string
  workspace: string
  machine: string
  /** The content of the question, as JSON. */
  input: string
}

/** Puts a question to another machine. Returns false if it was not accepted: no such machine, or too many open questions. */
export function putQuestion(
  cluster: PostgresCluster,
  { id, workspace, machine, input }: Question,
  ms: number,
): Promise<boolean> {
  return cluster.asReader(async (client, boot) => {
    const values = [boot, workspace, id, machine, input, ms]
    return (await client.query('SELECT relay.ask_1($1, $2, $3, $4, $5, $6) AS is', values)).rows[0].is === true
  })
}

/** Returns the questions that this machine has not answered yet. */
export function unansweredQuestions(cluster: PostgresCluster): Promise<Question[]> {
  return cluster.asReader(async (client, boot) => (await client.query('SELECT * FROM relay.asked_1($1)', [boot])).rows)
}

export function putAnswer(cluster: PostgresCluster, id: string, text: string): Promise<void> {
  return cluster.asReader(
    async (client, boot) => void (await client.query('SELECT relay.answer_1($1, $2, $3)', [boot, id, text])),
  )
}

/** Returns the answer of another machine to a question that stands in the database; undefined if there is none yet. */
export function readAnswer(cluster: PostgresCluster, id: string): Promise<string | undefined> {
  return cluster.asReader(async (client) => {
    return (await client.query('SELECT relay.answered_1($1) AS answer', [id])).rows[0].answer ?? undefined
  })
}
