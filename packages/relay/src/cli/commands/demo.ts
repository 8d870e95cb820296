// `demo`: plays three scripted agents at work, and prints what happens from the workspace's journal. daemon/demo-script.ts has their script.

import { connectRelay, type Message, type Relay, type RelayEvent } from '@agent-relay/sdk'
import { listText } from '@agent-relay/sdk/internal/clis'
import { shellQuote } from '@agent-relay/sdk/internal/command-words'
import { credentialsPath, dataDir, isDemoName } from '@agent-relay/sdk/internal/discover'
import { daemonName, type Link } from '@agent-relay/sdk/wire'
import { RefusalError } from '../../core/refusal-error.ts'
import type { DemoCast } from '../../daemon/demo-script.ts'
import { demoAnswerMs, demoCast, guestCast, newDemoName } from '../../daemon/demo-stage.ts'
import { type CliCommand, type CliOptions, type CommandContext, CommandError, exitCodes } from '../command.ts'
import { loginName, warnOfOtherVersion, withDaemon, workspaceKeyOf, workspaceOfCommand } from '../connection.ts'
import { findListedWorkspace, listWorkspaces, nextCommandId, tryWithControl, withControl } from '../control-socket.ts'
import { endingSignal } from '../ending.ts'
import { eventLine } from '../lines.ts'
import { ownCommandName, ownNameAnywhere } from '../own-name.ts'
import type { Printer } from '../print.ts'
import { countedText, withTilde } from '../text.ts'
import { newMemoryEnv, removeMemoryDirectory } from './daemon/starting.ts'

const paceMs = 600
const shown = [
  ...(['message.created', 'channel.created', 'action.completed', 'run.started', 'run.completed'] as const),
  ...(['worker.wished', 'approval.opened', 'approval.closed'] as const),
]

/** The workspace in which the demo is played. */
interface Stage {
  name: string
  key: string
  socketPath: string
  /** The path of the workspace. Undefined if it is in memory. */
  path?: string
  cast: DemoCast
  /** A link to the workspace's page; undefined if there is none. */
  page?: string
  /** Variables in a shell's syntax that must precede a command about this workspace in another terminal, such as `RELAY_DATA_DIR=… `. */
  settings?: string
  close(): Promise<void>
}

const demoOptions = {
  journal: { flags: '--journal', text: "also print that workspace's journal, entry by entry" },
  here: {
    flags: '--here',
    text: 'in the workspace of this directory, to see it in the feed of `up` and on its page',
  },
} satisfies CliOptions

export const demo: CliCommand<typeof demoOptions> = {
  options: demoOptions,
  examples: ['agent-relay demo', 'agent-relay demo --journal', 'agent-relay demo --here'],
  actsForNoAgent: true,
  run,
}

async function run(context: CommandContext<typeof demoOptions>): Promise<void> {
  const { options, print, env } = context
  const opening = options.here ? inOwn(context) : inRunning(context).then((stage) => stage ?? inMemory(context))
  const stage = await print.during('starting a relay for it', opening)
  const { name, key, socketPath, path } = stage
  const ending = endingSignal()
  // If nobody watches, nobody can answer the approval, so the time for that is short.
  const answerMs = print.isForPerson ? demoAnswerMs : paceMs
  // Imported here because it loads zod, which completion does not need.
  const { runDemoScript } = await import('../../daemon/demo-script.ts')
  try {
    if (!print.isJson) {
      const where = path === undefined ? 'a relay of its own, in memory' : 'the relay that runs here'
      await print.line(`Three scripted agents, no model, no network. Workspace ${name} in ${where}.`)
      if (stage.page !== undefined)
        await print.line(`See it in the browser: ${stage.page}      once, within five minutes`)
    }
    const watcher = await connectRelay({ socketPath, key, name: options.here ? loginName() : 'you', type: 'human' })
    try {
      const { seq: since } = await watcher.client.call('workspace.status', {})
      const playing = runDemoScript({ socketPath, cast: stage.cast, paceMs, answerMs, signal: ending })
      await showAll(watcher, print, playing, { since, stage, ending })
      if (ending.aborted) return
      const listed = await watcher.events.list({ since: options.here ? since : 0, limit: 500 })
      const events = options.here ? listed.events.filter((event) => isOfCast(stage, event)) : listed.events
      if (options.journal) for (const event of events) await showNumbered(print, event)
      if (print.isJson) return void (await print.json({ type: 'done', workspace: name, path, ...countsOf(events) }))
      const own = ownCommandName(env)
      await print.line(`${sumOf(events)}, all of them in the journal${whereToLook(stage, own, env.HOME)}`)
      if (path === undefined)
        await print.line(`To see it in a feed and on a page: ${own} up, and in a second terminal: ${own} demo --here`)
      await print.line(`Next, to connect your own agents: ${own} mcp install`)
    } finally {
      await watcher.close()
    }
  } finally {
    await stage.close()
  }
}

/** Whether one of the demo's agents has caused the event, or has asked for the approval that it is about. */
function isOfCast({ cast }: Stage, { type, by, fact }: RelayEvent): boolean {
  const agent = type === 'approval.opened' || type === 'approval.closed' ? fact.agent : by
  return [cast.lead, cast.tester, cast.reviewer].includes(agent)
}

/** Uses the workspace of this directory, which must be open. */
async function inOwn(context: CommandContext): Promise<Stage> {
  const { env, print } = context
  const name = workspaceOfCommand(context, env)
  return withDaemon({ env, print }, async (link) => {
    const found = await findListedWorkspace(link, name)
    if (!found.open) throw new RefusalError('workspace.closed', { workspace: name })
    const key = workspaceKeyOf(found.id ?? '', found.socketPath, env)
    if (key === undefined)
      throw new CommandError(`There is no key for workspace ${name} in the credentials file.`, exitCodes.denied)
    return { ...found, key, cast: guestCast, page: await pageOf(link, name), close: async () => {} }
  })
}

/** Returns a link to the workspace's page; undefined if the daemon has no HTTP port. */
async function pageOf(link: Link, workspace: string): Promise<string | undefined> {
  return (await link.call('page.link', { workspace }, nextCommandId('c')).catch(() => undefined))?.url
}

/** Creates a workspace in the running daemon; undefined if no daemon runs. */
async function inRunning({ env, print }: CommandContext): Promise<Stage | undefined> {
  return tryWithControl(env, async (link) => {
    warnOfOtherVersion(print, link.welcome.version)
    await removeFormer(link)
    const made = await link.call('workspace.create', { workspace: newDemoName() }, nextCommandId('c'))
    return { ...made, cast: demoCast, page: await pageOf(link, made.name), close: async () => {} }
  })
}

/** Removes the workspaces of earlier demos, except those that somebody is connected to. */
async function removeFormer(link: Link): Promise<void> {
  for (const { name } of (await listWorkspaces(link)).filter((workspace) => isDemoName(workspace.name)))
    await link.call('workspace.remove', { workspace: name }, nextCommandId('c')).catch(() => {})
}

async function inMemory({ env: given, print }: CommandContext): Promise<Stage> {
  const env = newMemoryEnv(given)
  const onTrouble = (error: Error) => print.say(error.message)
  const http = print.isForPerson ? { port: 0, ownName: ownNameAnywhere(given) } : undefined
  const settings = { dataDir: dataDir(env), credentialsPath: credentialsPath(env), isMemory: true, http }
  const { Daemon } = await import('../../daemon/daemon.ts')
  const daemon = await Daemon.start({ ...settings, onTrouble, onStop: () => {} })
  const close = async () => {
    await daemon?.stop()
    removeMemoryDirectory(env)
  }
  if (!daemon) throw new CommandError(`A relay could not be started in ${dataDir(env)}.`, exitCodes.busy)
  try {
    return await withControl(env, async (link) => {
      const made = await link.call('workspace.create', { workspace: newDemoName() }, nextCommandId('c'))
      const page = http && (await pageOf(link, made.name))
      const words = `RELAY_DATA_DIR=${shellQuote(dataDir(env))} `
      return { ...made, path: undefined, cast: demoCast, page, settings: words, close }
    })
  } catch (error) {
    await close()
    throw error
  }
}

interface Shows {
  /** The number of the last journal entry before the demo. */
  since: number
  stage: Stage
  ending: AbortSignal
}

/** Prints the demo's events from the journal, in the same lines as the command `events`. */
async function showAll(watcher: Relay, print: Printer, playing: Promise<number>, shows: Shows): Promise<void> {
  const { since, stage, ending } = shows
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
  // The promise is awaited at the end. This keeps an earlier rejection from ending the process.
  played.catch(() => {})
  const messages = new Map<string, Message>()
  for await (const event of watcher.events.follow({ since, types: shown, signal: stopped.signal })) {
    if (!isOfCast(stage, event)) continue
    if (event.message) messages.set(event.message.id, event.message)
    if (print.isJson) await print.json(event)
    else
      await print.line(
        `${eventLine(print, event)}${await moreOf(watcher, event, messages)}${print.typed(howToJoin(stage, event))}`,
      )
    // The last message may arrive here before the agent that has sent it knows its number, so wait for that.
    if (event.message?.kind === 'status' && event.message.from !== daemonName) await played
    if (event.seq >= last) break
  }
  await played
}

/** Returns what the event's own line does not have: the time that an answer took, or the output of an action. */
async function moreOf(watcher: Relay, { type, fact, message }: RelayEvent, messages: Map<string, Message>) {
  const asked = message?.replyTo === undefined ? undefined : messages.get(message.replyTo)
  if (message && asked) return `   answered in ${Date.parse(message.ts) - Date.parse(asked.ts)} ms`
  if (type !== 'action.completed') return ''
  const { result } = await watcher.actions.result(fact.id)
  return result?.ok ? `   → ${JSON.stringify(result.output)}` : ''
}

/** Returns the hint with which a person watches the worker, or answers the approval. */
function howToJoin({ name, page, settings = '' }: Stage, { type, fact }: RelayEvent): string {
  const typed = (command: string) => `${settings}agent-relay ${command} --project ${name}`
  if (type === 'worker.wished') return `\n  → to watch it: ${typed(`attach ${fact.worker}`)}`
  if (type !== 'approval.opened') return ''
  return `\n  → to answer it, in another terminal${page === undefined ? '' : ' or on the page'}: ${typed(`approve ${fact.id}`)}`
}

async function showNumbered(print: Printer, event: RelayEvent): Promise<void> {
  if (print.isJson) await print.json(event)
  else await print.line(`${String(event.seq).padStart(6)} ${eventLine(print, event)}`)
}

function countsOf(events: RelayEvent[]) {
  const count = (type: string) => events.filter((event) => event.type === type).length
  return { messages: count('message.created'), actions: count('action.completed'), runs: count('run.completed') }
}

function sumOf(events: RelayEvent[]): string {
  const { messages, actions, runs } = countsOf(events)
  return listText([countedText(messages, 'message'), countedText(actions, 'action'), countedText(runs, 'run')])
}

function whereToLook({ name, path, cast }: Stage, own: string, home: string | undefined): string {
  if (path === undefined) return `: ${own} demo --journal shows it. Nothing is kept.`
  if (cast === guestCast) return `: ${own} events --project ${name}`
  return [
    `: ${own} events --project ${name}`,
    `It stays in ${withTilde(path, home)} until the next demo. To remove it now: ${own} workspace remove ${name}`,
  ].join('\n')
}
