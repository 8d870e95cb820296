// Prints names and ids, one per line, for a shell in which somebody has pressed Tab. To be fast, this file loads nothing else of the command line, and speaks
// only the part of the protocol that it needs. It registers no agent, and prints no errors. commands/completion.ts makes the scripts that run it.

import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { credentialsPath, dataDir, type Env, reachDaemon, readForeignText } from '@agent-relay/sdk/internal/discover'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { WireClient } from '@agent-relay/sdk/internal/wire-client'

export const completionKinds = ['actions', 'agents', 'channels', 'messages', 'projects', 'runs'] as const
export type CompletionKind = (typeof completionKinds)[number]

/** Only names that match are printed, since the shell would expand other characters. */
const plainName = /^[\w.+@-]+$/
/** Timeout in ms: a person has pressed Tab and waits. */
const answerMs = waitLimitMs('completion')
/** Maximum number of ids, newest first: nobody types an old id. */
const idsMax = 30

/** Prints the names and ends the process. `line` has the words of the command line, which may name a workspace. */
export async function complete(what: string | undefined, line: string[], env: Env = process.env): Promise<void> {
  setTimeout(() => process.exit(0), answerMs).unref()
  try {
    const words = (await wordsFor(what as CompletionKind, projectIn(line), env)).filter((word) => plainName.test(word))
    process.stdout.write(words.map((word) => `${word}\n`).join(''), () => process.exit(0))
  } catch {
    // Nothing is printed, for example if no daemon runs.
  }
}

function projectIn(line: string[]): string | undefined {
  const joined = line.findLast((word) => word.startsWith('--project='))
  const at = line.lastIndexOf('--project')
  return joined?.slice('--project='.length) ?? (at < 0 ? undefined : line[at + 1])
}

async function wordsFor(what: CompletionKind, project: string | undefined, env: Env): Promise<string[]> {
  if (what === 'projects') return readdirSync(join(dataDir(env), 'projects'))
  const { socketPath, socket = connect(socketPath) } = await reachDaemon({ env, project })
  // If the connection fails, the process ends without an error.
  const exit = () => process.exit(0)
  const client = new WireClient(socket, {}, exit)
  const { workspaceId } = await client.welcome
  if (what === 'agents') {
    const { agents } = await client.call<{ agents: { name: string }[] }>('agent.list', { includeOffline: true })
    return agents.map(({ name }) => name)
  }
  if (what === 'actions') {
    const { actions } = await client.call<{ actions: { name: string }[] }>('action.list', {})
    return actions.map(({ name }) => name)
  }
  if (what === 'channels') {
    const { channels } = await client.call<{ channels: { name: string }[] }>('channel.list', {})
    return channels.map(({ name }) => name.replace(/^#/, ''))
  }
  // To see all messages and runs, this session needs the workspace's key.
  const holder = new WireClient(connect(socketPath), { key: keyOf(workspaceId, socketPath, env) }, exit)
  const type = what === 'runs' ? 'run.started' : 'message.created'
  const { events } = await holder.call<{ events: IdEvent[] }>('event.list', { types: [type], limit: idsMax })
  return events.map(({ fact }) => fact.id).reverse()
}

interface IdEvent {
  fact: { id: string }
}

/** Returns the workspace's key. machine/credentials-file.ts reads it in the same way, but takes longer to load. */
function keyOf(workspaceId: string, socketPath: string, env: Env): string | undefined {
  const beside = join(dirname(socketPath), '..', '..', 'credentials.json')
  for (const path of [credentialsPath(env), beside]) {
    const { workspaces } = JSON.parse(readForeignText(path) ?? '{}') as { workspaces?: Record<string, { key: string }> }
    const key = workspaces?.[workspaceId]?.key
    if (key !== undefined) return key
  }
  return undefined
}
