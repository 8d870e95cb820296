// `demo`: shows three scripted agents at work, from the journal of a workspace that is made for it. What they say is demo-script.ts's affair.

import { randomBytes } from 'node:crypto'
import { connectRelay, daemonName, type Link, type Message, type Relay, type RelayEvent } from '@agent-relay/sdk'
import { credentialsPath, dataDir, isDemoName } from '@agent-relay/sdk/discover'
import { Daemon } from '../../daemon.ts'
import { CommandError, exits, type Invocation, type Run } from '../command.ts'
import { sayVersion } from '../context.ts'
import { play } from '../demo-script.ts'
import { awaitEnding } from '../ending.ts'
import { eventLine } from '../lines.ts'
import { ownName } from '../own-name.ts'
import type { Print } from '../print.ts'
import { control, forgetMemory, memoryEnv, nextId, reachControl } from '../starting.ts'
import { counted, homely, listOf } from '../text.ts'

const paceMs = 600
const shown = ['message.created', 'channel.created', 'action.completed', 'run.started', 'run.completed']

interface Theatre {
  name: string
  key: string
  socketPath: string
  /** Where it stays, if it does: in memory it goes with the demo. */
  path?: string
  close(): Promise<void>
}

export const run: Run = async (invocation) => {
  const { options, print, env } = invocation
  const theatre = (await inRunning(invocation)) ?? (await inMemory(invocation))
  const { name, key, socketPath, path } = theatre
  const own = ownName(env)
  const ending = awaitEnding()
  try {
    if (!print.isJson) {
      const where = path === undefined ? 'a relay of its own, in memory' : 'the relay that runs here'
      await print.line(`Three scripted agents, no model, no network. Workspace ${name} in ${where}.`)
    }
    const watcher = await connectRelay({ socketPath, key, name: 'you', type: 'human' })
    try {
      await showAll(watcher, print, play({ socketPath, paceMs, signal: ending }), ending)
      if (ending.aborted) return
      const { events } = await watcher.events.list({ since: 0, limit: 500 })
      if (options.journal) for (const event of events) await showNumbered(print, event)
      if (print.isJson) return void (await print.json({ type: 'done', workspace: name, path, ...countsOf(events) }))
      await print.line(`${sumOf(events)}, all of them in the journal${whereToLook(theatre, own, env.HOME)}`)
      await print.line(`Next: ${own} mcp install`)
    } finally {
      await watcher.close()
    }
  } finally {
    await theatre.close()
  }
}

/** A workspace of the daemon that runs; undefined where none does. */
async function inRunning({ env, print }: Invocation): Promise<Theatre | undefined> {
  const link = await reachControl(env)
  if (!link) return undefined
  try {
    sayVersion(print, link.welcome.version)
    await removeFormer(link)
    return { ...(await link.call('workspace.create', { workspace: freshName() }, nextId('c'))), close: async () => {} }
  } finally {
    await link.close()
  }
}

/** At most one stays to be looked at. One that is being looked at, or plays just now, is left alone. */
async function removeFormer(link: Link): Promise<void> {
  const { workspaces } = await link.call('workspace.list', {}, nextId('c'))
  for (const { name } of workspaces.filter((workspace) => isDemoName(workspace.name)))
    await link.call('workspace.remove', { workspace: name }, nextId('c')).catch(() => {})
}

async function inMemory({ env: given, print }: Invocation): Promise<Theatre> {
  const env = memoryEnv(given)
  const onTrouble = (error: Error) => print.say(error.message)
  const settings = { dataDir: dataDir(env), credentialsPath: credentialsPath(env), isMemory: true }
  const daemon = await Daemon.start({ ...settings, onTrouble, onStop: () => {} })
  const close = async () => {
    await daemon?.stop()
    forgetMemory(env)
  }
  if (!daemon) throw new CommandError(`A relay could not be started in ${dataDir(env)}.`, exits.busy)
  try {
    const link = await control(env)
    const made = await link.call('workspace.create', { workspace: freshName() }, nextId('c'))
    await link.close()
    return { ...made, path: undefined, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Discovery knows such a name, and never takes it for the workspace that somebody means. */
function freshName(): string {
  return `demo-${randomBytes(2).toString('hex')}`
}

/** What is printed comes from the journal and not from the agents: it is what `events` would show. */
async function showAll(watcher: Relay, print: Print, playing: Promise<number>, ending: AbortSignal): Promise<void> {
  let last = Number.POSITIVE_INFINITY
  const stopped = new AbortController()
  const played = playing.then(
    (seq) => {
      last = seq
    },
    (error) => {
      stopped.abort()
      if (!ending.aborted) throw error
    },
  )
  // Told below, unless showing itself fails first.
  played.catch(() => {})
  const messages = new Map<string, Message>()
  for await (const event of watcher.events.follow({ since: 0, types: shown, signal: stopped.signal })) {
    if (event.by === daemonName) continue
    if (event.message) messages.set(event.message.id, event.message)
    if (print.isJson) await print.json(event)
    else await print.line(`${eventLine(print, event)}${await moreOf(watcher, event, messages)}`)
    // The last one is an entry like any other, and may be seen before the one who made it knows its number.
    if (event.message?.kind === 'status' && event.message.from !== daemonName) await played
    if (event.seq >= last) break
  }
  await played
}

/** How long an answer took, and what an action answered: both are in the journal, but not in the entry's own line. */
async function moreOf(watcher: Relay, { type, fact, message }: RelayEvent, messages: Map<string, Message>) {
  const asked = message?.replyTo === undefined ? undefined : messages.get(message.replyTo)
  if (message && asked) return `   answered in ${Date.parse(message.ts) - Date.parse(asked.ts)} ms`
  if (type !== 'action.completed') return ''
  const { result } = await watcher.actions.result(fact.id as string)
  return result?.ok ? `   → ${JSON.stringify(result.output)}` : ''
}

async function showNumbered(print: Print, event: RelayEvent): Promise<void> {
  if (print.isJson) await print.json(event)
  else await print.line(`${String(event.seq).padStart(6)} ${eventLine(print, event)}`)
}

function countsOf(events: RelayEvent[]) {
  const count = (type: string) => events.filter((event) => event.type === type).length
  return { messages: count('message.created'), actions: count('action.completed'), runs: count('run.completed') }
}

function sumOf(events: RelayEvent[]): string {
  const { messages, actions, runs } = countsOf(events)
  return listOf([counted(messages, 'message'), counted(actions, 'action'), counted(runs, 'run')])
}

function whereToLook({ name, path }: Theatre, own: string, home: string | undefined): string {
  if (path === undefined) return `: ${own} demo --journal shows it. Nothing is kept.`
  return [
    `: ${own} events --project ${name}`,
    `It stays in ${homely(path, home)} until the next demo. To remove it now: ${own} workspace remove ${name}`,
  ].join('\n')
}
