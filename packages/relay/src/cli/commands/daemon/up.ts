// `up`: runs the relay in the foreground. This process becomes the daemon, or prints the messages of the daemon that runs already.

import { RelayClient, RelayError } from '@agent-relay/sdk'
import { dataDir, type Env } from '@agent-relay/sdk/internal/discover'
import { version } from '../../../machine/version.ts'
import type { CliCommand, CommandContext } from '../../command.ts'
import { ownerConnector, workspaceKeyOf } from '../../connection.ts'
import { nextCommandId } from '../../control-socket.ts'
import { untilAborted } from '../../ending.ts'
import { followOtherWorkspaces, followsAllWorkspaces, hereOption } from '../../everywhere.ts'
import { announceDisconnects, showMessageFeed } from '../../feed.ts'
import { ownCommandName } from '../../own-name.ts'
import { controlAsPerson } from '../../person.ts'
import type { Printer } from '../../print.ts'
import { withTilde } from '../../text.ts'
import { reportFailedAgents } from '../agents.ts'
import { runInForeground, type ServedWorkspace, upOptions } from './foreground.ts'
import { newMemoryEnv, shellExportLine } from './starting.ts'

const feedOptions = { ...upOptions, here: hereOption }

export const up: CliCommand<typeof feedOptions> = {
  options: feedOptions,
  examples: ['agent-relay up', 'agent-relay up --here', 'agent-relay up --project frontend', 'agent-relay up --memory'],
  actsForNoAgent: true,
  run,
}

async function run(context: CommandContext<typeof feedOptions>): Promise<void> {
  const env = context.options.memory ? newMemoryEnv(context.env) : context.env
  await runInForeground(context, env, async (served, isOwn, end) => {
    const page = served.url && (await pageLink(env, served.name))
    await show(context, env, { ...served, page }, isOwn, end)
  })
}

/** Returns a link to the page; undefined unless it is certain that a person has started this command. */
async function pageLink(env: Env, workspace: string): Promise<string | undefined> {
  try {
    return (await controlAsPerson(env, (link) => link.call('page.link', { workspace }, nextCommandId('c')))).url
  } catch (error) {
    if (error instanceof RelayError && error.code === 'person.required') return undefined
    throw error
  }
}

/** The opened workspace, with a link to its page. */
type ShownWorkspace = ServedWorkspace & { page?: string }

async function show(
  context: CommandContext<typeof feedOptions>,
  env: Env,
  opened: ShownWorkspace,
  isOwn: boolean,
  end: AbortSignal,
): Promise<void> {
  const { options, print } = context
  const key = workspaceKeyOf(opened.id ?? '', opened.socketPath, env)
  if (key === undefined)
    print.say('The credentials file has no key for this workspace, so its messages cannot be shown.')
  const connect = ownerConnector(opened.socketPath, opened.id ?? '', env)
  const client = new RelayClient({ connect, key, autoConnect: false })
  await client.connect()
  announceDisconnects(client, print, end)
  if (print.isJson) {
    const { name, socketPath, path, url } = opened
    void print.json({
      type: 'ready',
      version,
      workspace: name,
      socketPath,
      path,
      url,
      dataDir: dataDir(env),
      isDaemon: isOwn,
    })
  } else if (!options.quiet) {
    void print.line(banner(print, env, opened, isOwn, options.memory === true))
    reportFailedAgents(print, (await client.call('agent.list', { includeOffline: true })).agents)
  }
  const isAll = !options.quiet && !options.memory && (await followsAllWorkspaces(context))
  if (isAll) void followOtherWorkspaces(context, opened.name, ['message.created'], end)
  try {
    await (options.quiet ? untilAborted(end) : showMessageFeed(client, print, end, isAll ? opened.name : undefined))
  } finally {
    await client.disconnect()
  }
}

function banner(
  print: Printer,
  env: Env,
  { name, socketPath, path, url, page }: ShownWorkspace,
  isOwn: boolean,
  isMemory: boolean,
): string {
  const own = ownCommandName(env)
  const where = (text: string) => withTilde(text, env.HOME)
  const line = (label: string, text: string) => `  ${print.paint('dim', label.padEnd(9))} ${text}`
  const step = (what: string, how: string) => `  ${what.padEnd(31)}${how}`
  const lines = [
    `${print.paint('bold', `agent-relay ${version}`)} · workspace ${print.paint('bold', name)}${isOwn ? '' : ', open in the daemon that is already running'}`,
    line('agents', `${own} mcp serve${url === undefined ? '' : `      (or ${url}/mcp)`}`),
    line('data', isMemory ? `${where(path)} (in memory: gone when this ends)` : where(path)),
  ]
  if (isMemory) lines.push(line('use it', shellExportLine({ RELAY_DATA_DIR: dataDir(env), RELAY_SOCKET: socketPath })))
  lines.push(
    'Next, in a second terminal:',
    step('connect your editors and CLIs', `${own} mcp install`),
    step('see it work without any', `${own} demo`),
    ...(page === undefined ? [] : [step('watch in the browser', `${page}      once, within five minutes`)]),
    isOwn
      ? 'ready. Messages appear below, Ctrl-C stops.'
      : 'ready. Messages appear below. Ctrl-C ends this view; the workspace stays open.',
    '',
  )
  return lines.join('\n')
}
