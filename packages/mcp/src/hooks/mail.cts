// `agent-relay-mcp hook EVENT`, which an agent's CLI runs when a turn begins or ends. Takes the messages that wait for the agent and prints them in
// the format of that event; if the model's context was cut, the agent's brief comes first. Without either it prints nothing, and it never shows an
// error to the CLI. `hook rewake` prints messages in the format that wakes an idle session, and `hook wait` runs until there is a message. Like all
// hooks, it must start about as fast as an empty Node.js program, so it loads `node:` modules, discovery and the text formats only.

import { connect } from 'node:net'
import { join } from 'node:path'
import { clisWith, defaultCli, type HookForm } from '@agent-relay/sdk/internal/clis'
import { dataDir, reachDaemon } from '@agent-relay/sdk/internal/discover'
import { type InjectedMessage, injectionText } from '@agent-relay/sdk/internal/injection'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { WireClient } from '@agent-relay/sdk/internal/wire-client'
import { cliConversationIdOf, hookIdentity } from './identity.cts'
import { PendingBrief, parseMemoryCut } from './later-brief.cts'
import { readStdinObject } from './stdin.cts'

/** Events at the end of a turn: to show messages, the hook must keep the turn from ending. At all other events it adds the text to the model's context. */
const turnEndEvents = ['Stop', 'SubagentStop', 'AfterAgent', 'agentStop']
/** Events at the beginning of a session. The new session has not seen the messages that an earlier one was shown, so it is shown them again. */
const sessionStartEvents = ['SessionStart', 'sessionStart']

/** The longest wait for the daemon: the turn waits for the hook, and a daemon answers within milliseconds or is in trouble. */
const answerMs = waitLimitMs('hook')
/** How long one request waits for messages; `hook wait` repeats the request. */
const waitMs = 600_000
/** Interval at which `hook wait` checks its parent process: when the CLI has ended, the parent is another process. */
const parentCheckMs = 5_000
/**
 * Limits of the messages that are added to a context. Claude Code puts an addition of more than 10,000 characters into a file, so further messages
 * come at the end of the turn.
 */
const contextRoom = { limit: 8, bytesMax: 5 * 1024 }

/** The timer that ends the process if the daemon does not answer. */
let answerTimer: NodeJS.Timeout | undefined

/** Runs the hook, which ends the process when it is done. */
export async function runMailHook(event: string, cli: string = defaultCli): Promise<void> {
  const { env } = process
  const form = formFor(cli)
  const identity = hookIdentity(env)
  if (!form || !identity) return
  if (event !== 'wait') answerTimer = setTimeout(() => process.exit(), answerMs).unref()
  // Standard input names the CLI's conversation; one CLI process may have many.
  const said = sessionStartEvents.includes(event) || form.isShared ? await readStdinObject() : {}
  const thread = cliConversationIdOf(said)
  const path = 'hosts' in identity ? join(dataDir(env), 'hooks', `brief.${identity.hosts[0]}`) : undefined
  const later = new PendingBrief(path, form.isShared ? thread : undefined)
  const cut = sessionStartEvents.includes(event) ? parseMemoryCut(said.source) : undefined
  try {
    if (form.dropsCleared && cut === 'clear') {
      later.store(cut)
      process.exit()
    }
    const { socketPath, socket = connect(socketPath) } = await reachDaemon()
    const client = new WireClient(socket, 'hosts' in identity ? { ...identity, thread } : identity, (isRefused) => {
      // The hook of a resumed session runs before the session's MCP server connects. The daemon does not know the agent yet and refuses the hook, so
      // the next hook gives the brief.
      if (isRefused && !client.isWelcome) later.store(cut)
      process.exit()
    })
    if (event === 'wait') await waitForMessages(client, form)
    else if (event === 'rewake') await runRewake(client, form, later)
    else await showMessages(client, event, form, cut, later)
  } catch {
    process.exit()
  }
}

interface CliHookForm extends HookForm {
  toolPrefix: string
  isShared: boolean
}

/** The format of messages for this CLI's model; undefined for a CLI that runs no hooks. */
function formFor(cli: string): CliHookForm | undefined {
  const row = clisWith('hooks').find(({ name }) => name === cli)
  return row && { toolPrefix: row.toolPrefix, ...row.hooks, isShared: 'sharesServer' in row }
}

/** Prints first, then reports the messages as offered: a message that is lost in between is offered again, never counted as read. */
async function showMessages(
  client: WireClient,
  event: string,
  form: CliHookForm,
  cut: string | undefined,
  later: PendingBrief,
): Promise<void> {
  const isStop = turnEndEvents.includes(event)
  // After a compaction, messages that were shown before are not shown again: they may be part of the prompt that begins. The brief counts the others.
  const again = sessionStartEvents.includes(event) && cut !== 'compact'
  const messages = await takeMessages(client, { again, begun: performance.timeOrigin, ...(isStop ? {} : contextRoom) })
  // The brief is asked for after the messages were taken, so that it counts only the others as waiting.
  const opening = await fetchBrief(client, cut ?? later.storedCut, later)
  if (messages.length === 0 && opening === '') process.exit()
  const text = await messagesText(client, messages, form, opening)
  const context = { additionalContext: text }
  const added = form.isFlat ? context : { hookSpecificOutput: { hookEventName: event, ...context } }
  const output = isStop ? { decision: 'block', reason: text } : added
  print(process.stdout, JSON.stringify(output), () => reportOffered(client, messages, 'hook'))
}

async function takeMessages(
  client: WireClient,
  how: { [name in 'begun' | 'wait' | 'limit' | 'bytesMax']?: number } & { again?: boolean },
): Promise<InjectedMessage[]> {
  const input = { route: 'hook', ...how }
  return (await client.call<{ messages: InjectedMessage[] }>('inbox.take', input)).messages
}

async function fetchBrief(client: WireClient, after: string | undefined, later: PendingBrief): Promise<string> {
  if (after === undefined) return ''
  const { text } = await client.call<{ text: string }>('agent.brief', { after })
  later.clear()
  return text
}

async function messagesText(
  client: WireClient,
  messages: InjectedMessage[],
  form: CliHookForm,
  opening: string,
): Promise<string> {
  const { sendTool } = await client.welcome
  return injectionText(messages, { ...form, sendTool, opening })
}

/** Prints a text. If the output is closed, ends the process without a report, so that the messages can be shown elsewhere. */
function print(stream: NodeJS.WriteStream, text: string, then: () => void): void {
  stream.write(`${text}\n`, (error) => (error ? process.exit() : then()))
}

async function reportOffered(
  client: WireClient,
  messages: InjectedMessage[],
  route: 'hook' | 'rewake' | 'http',
): Promise<void> {
  setTimeout(() => process.exit(), answerMs).unref()
  if (messages.length > 0) await client.call('inbox.offer', { route, messages: messages.map(({ id }) => id) })
  process.exit()
}

/** Wakes the session if there are messages; a due brief alone does not wake it. A plugin adds the brief to each prompt itself, so none is added here. */
async function runRewake(client: WireClient, form: CliHookForm, later: PendingBrief): Promise<void> {
  const messages = await takeMessages(client, {})
  const isBriefed = messages.length > 0 && !form.isPlugin
  await wakeSession(client, messages, form, isBriefed ? await fetchBrief(client, later.storedCut, later) : '')
}

/** Wakes the session, for Claude Code by its asyncRewake: exit code 2 wakes the session, which is shown the hook's stderr. */
async function wakeSession(
  client: WireClient,
  messages: InjectedMessage[],
  form: CliHookForm,
  opening = '',
): Promise<void> {
  if (messages.length === 0) process.exit()
  const text = await messagesText(client, messages, form, opening)
  if (form.isPlugin) return handToPlugin(client, messages, text)
  print(process.stderr, text, () => {
    // Sets the exit code before the report: if the daemon's answer to the report is lost, the messages must still wake this session, since no other
    // shows them.
    process.exitCode = 2
    void reportOffered(client, messages, 'rewake')
  })
}

/**
 * Hands messages to the plugin, which writes a line to standard input once its CLI has the text, however long that takes. If the input ends without
 * that line, the messages were not shown, and wait for the next waiter.
 */
function handToPlugin(client: WireClient, messages: InjectedMessage[], text: string): void {
  clearTimeout(answerTimer)
  const over = () => process.exit()
  process.stdin
    .once('data', () => {
      // Exit code 2: the messages were handed over, so the waiter that started this hook ends.
      process.exitCode = 2
      void reportOffered(client, messages, 'http')
    })
    .on('error', over)
    .on('end', over)
  print(process.stdout, JSON.stringify(text), () => {})
}

/** Waits for messages on a machine whose shell cannot read with a timeout. Elsewhere the shell waits (launcher/hook-guard.ts). */
async function waitForMessages(client: WireClient, form: CliHookForm): Promise<void> {
  const parent = process.ppid
  setInterval(() => process.ppid !== parent && process.exit(), parentCheckMs)
  for (;;) {
    const asked = performance.now()
    const messages = await takeMessages(client, { wait: waitMs })
    if (messages.length > 0 && process.ppid === parent) return wakeSession(client, messages, form)
    // The wait ended early: a newer waiter has come, or the daemon stops.
    if (messages.length > 0 || performance.now() - asked < waitMs) process.exit()
  }
}
