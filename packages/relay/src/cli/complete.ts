// Prints names and ids, one a line, for a shell in which somebody has pressed Tab. This file is loaded without the rest of the command line, speaks
// as much of the protocol as it needs, registers nobody, and is silent whatever goes wrong. commands/completion.ts makes the scripts that ask.

import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { credentialsPath, dataDir, type Env, reachDaemon, readForeignText } from '@agent-relay/sdk/internal/discover'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { WireClient } from '@agent-relay/sdk/internal/wire-client'

export const completionKinds = ['actions', 'agents', 'channels', 'messages', 'projects', 'runs'] as const
export type CompletionKind = (typeof completionKinds)[number]

/** The only names that are printed, because a shell expands what it is given. */
const plainName = /^[\w.+@-]+$/
/** The time limit: a person has pressed Tab and waits. */
const answerMs = waitLimitMs('completion')
/** The most ids that are offered, and only the newest: nobody types an old one from memory. */
const idsMax = 30

/** Prints the names, and ends the process. `line` is what stands in the shell: it may name another workspace. */
export async function complete(what: string | undefined, line: string[], env: Env = process.env): Promise<void> {
  setTimeout(() => process.exit(0), answerMs).unref()
  try {
    const words = (await wordsFor(what as CompletionKind, projectIn(line), env)).filter((word) => plainName.test(word))
    process.stdout.write(words.map((word) => `${word}\n`).join(''), () => process.exit(0))
  } catch {
    // Without a daemon there are no names.
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
  // A shell is never told of a failure.
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
  // Seeing all messages and runs takes the key, which a session shows at its beginning.
  const holder = new WireClient(connect(socketPath), { key: keyOf(workspaceId, socketPath, env) }, exit)
  const type = what === 'runs' ? 'run.started' : 'message.created'
  const { events } = await holder.call<{ events: IdEvent[] }>('event.list', { types: [type], limit: idsMax })
  return events.map(({ fact }) => fact.id).reverse()
}

interface IdEvent {
  fact: { id: string }
}

/** The workspace's key, read as by machine/credentials-file.ts, which takes longer to load. */
function keyOf(workspaceId: string, socketPath: string, env: Env): string | undefined {
  const beside = join(dirname(socketPath), '..', '..', 'credentials.json')
  for (const path of [credentialsPath(env), beside]) {
    const { workspaces } = JSON.parse(readForeignText(path) ?? '{}') as { workspaces?: Record<string, { key: string }> }
    const key = workspaces?.[workspaceId]?.key
    if (key !== undefined) return key
  }
  return undefined
}
