// The calls by which the daemons of a cluster exchange data through PostgreSQL besides the journal: presence (which agents are connected), and small
// questions with an answer.

import type { PostgresCluster } from './postgres-cluster.ts'

/** The presence of one machine in one workspace, as that machine's daemon last reported it. */
export interface MachinePresence {
  workspace: string
  machine: string
  /** Time since the last sign of life from the machine's daemon, in ms. */
  seenMs: number
  /** The connected agents as JSON; '' if they are unchanged. */
  agents: string
  /** Whether the machine no longer belongs to the cluster. */
  removed: boolean
}

/** The presence of this machine in one workspace. `agents`: the connected agents as JSON; '' if they are unchanged. */
export interface OwnPresence {
  workspace: string
  agents: string
}

/**
 * Reports this machine's presence. Returns the machines whose presence has changed since `stamp`, that have fallen silent, or that were removed. `stamp`:
 * from the previous answer, or 0 to get all machines.
 */
export function reportPresence(
  cluster: PostgresCluster,
  stamp: number,
  here: readonly OwnPresence[],
): Promise<{ stamp: number; reported: MachinePresence[] }> {
  return cluster.asReader(async (client, boot) => {
    const text = 'SELECT * FROM relay.present_2($1, $2, $3)'
    const { rows } = await client.query(text, [boot, stamp, JSON.stringify(here)])
    // An empty answer means that this machine was removed, or that a daemon that started later has its identity: its next append then fails with the reason.
    const [head, ...reported] = rows
    return {
      stamp: Number(head?.stamp ?? 0),
      reported: reported.map(({ workspace, machine, seen_ms: seenMs, agents, removed }) => {
        return { workspace, machine, seenMs: Number(seenMs), agents, removed }
      }),
    }
  })
}

/** A question between two machines. `machine`: the other machine, which asks or is asked. */
export interface Question {
  id: string
  workspace: string
  machine: string
  /** The content of the question, as JSON. */
  input: string
}

/** Stores a question to another machine. Returns false if there is no such machine, or if this machine has too many open questions. */
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

/** Returns the questions to this machine that it has not answered yet. */
export function unansweredQuestions(cluster: PostgresCluster): Promise<Question[]> {
  return cluster.asReader(async (client, boot) => (await client.query('SELECT * FROM relay.asked_1($1)', [boot])).rows)
}

export function putAnswer(cluster: PostgresCluster, id: string, text: string): Promise<void> {
  return cluster.asReader(
    async (client, boot) => void (await client.query('SELECT relay.answer_1($1, $2, $3)', [boot, id, text])),
  )
}

/** Returns another machine's answer to a question of this machine; undefined if there is none yet. */
export function readAnswer(cluster: PostgresCluster, id: string): Promise<string | undefined> {
  return cluster.asReader(async (client) => {
    return (await client.query('SELECT relay.answered_1($1) AS answer', [id])).rows[0].answer ?? undefined
  })
}
