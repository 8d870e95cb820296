// `workspace export` and `workspace import`: write the messages or all events of a workspace as text, and make a new workspace from such a file.

import { createWriteStream } from 'node:fs'
import { resolve } from 'node:path'
import type { RelayClient, RelayEvent } from '@agent-relay/sdk'
import { recordingLine } from '@agent-relay/sdk/internal/client'
import { dataDir } from '@agent-relay/sdk/internal/discover'
import type { Message } from '@agent-relay/sdk/protocol'
import { limits } from '@agent-relay/sdk/wire'
import { configuredProject } from '../../../machine/config.ts'
import { DataDirectory } from '../../../machine/data-directory.ts'
import {
  type CliOptions,
  type CommandContext,
  CommandError,
  exitCodes,
  type NamedCommand,
  type OptionValues,
} from '../../command.ts'
import { withClient } from '../../connection.ts'
import { addressText } from '../../lines.ts'
import { safeJson } from '../../print.ts'
import { localOption } from '../../shared-name.ts'
import { cleanText, countedText, oneLine, withTilde } from '../../text.ts'
import { refuseMemoryRelay } from './backup.ts'
import { readableFile, withWorkspacePlacer } from './restore.ts'

const exportOptions = {
  format: {
    flags: '--format <format>',
    text: 'jsonl, one message a line (the default), or md, to be read by people',
    choices: ['jsonl', 'md'],
  },
  events: { flags: '--events', text: 'every event, one a line, as the recorder of the page saves and opens them' },
  conversation: { flags: '--conversation <name>', text: "only this one: '#build', '@Ann,Bob' or '*'" },
  thread: { flags: '--thread <id>', text: 'only this thread' },
  run: { flags: '--run <id>', text: 'only this run, with what its agent said and was told until its end' },
  bodies: { flags: '--no-bodies', text: 'print only the length of what people and agents wrote' },
  to: { flags: '--to <file>', text: 'write into a new file, which appears once it is complete' },
} satisfies CliOptions
type ExportOptions = OptionValues<typeof exportOptions>

export const exportCommand: NamedCommand<typeof exportOptions> = {
  name: 'export',
  text: 'print what was said in a workspace, for its key holder: all of it, a conversation, a thread or a run',
  options: exportOptions,
  examples: [
    'agent-relay workspace export --to app.jsonl',
    "agent-relay workspace export --format md --conversation '#general'",
    'agent-relay workspace export --events --no-bodies --to report.jsonl',
  ],
  actsForNoAgent: true,
  run: runExport,
}

/** Writes text. Resolves to false when the output is closed. */
type WriteText = (text: string) => Promise<boolean>

async function runExport(context: CommandContext<typeof exportOptions>): Promise<void> {
  const { options, print, env } = context
  const { format = 'jsonl', events = false, to } = options
  if (format === 'md' && events)
    throw new CommandError('--events are for programs: --format jsonl, or without --events', exitCodes.usage)
  await withClient(context, 'holder', async ({ client, welcome }) => {
    const { pruned } = await client.call('event.list', { since: 0, limit: 1 })
    if (pruned !== undefined)
      print.say(`Finished events up to entry ${pruned} were pruned, and are not in this export.`)
    const write = (take: WriteText) => exportAll(client, options, welcome.workspace, take)
    if (to === undefined) return void (await write((text) => print.bytes(Buffer.from(text))))
    const { writeNewFile } = await import('../../../machine/new-file.ts')
    const path = resolve(to)
    const count = await print.during(
      'exporting',
      writeNewFile(path, (draft) => intoFile(draft, write)),
    )
    if (print.isJson) return void (await print.json({ path, count }))
    print.say(`${countedText(count, events ? 'event' : 'message')} in ${withTilde(path, env.HOME)}`)
  })
}

async function intoFile(path: string, write: (take: WriteText) => Promise<number>): Promise<number> {
  const file = createWriteStream(path, { mode: 0o600, flags: 'wx' })
  const failed = new Promise<never>((_, reject) => file.once('error', reject))
  const take: WriteText = (text) =>
    Promise.race([failed, new Promise<boolean>((done) => file.write(text, (error) => done(!error)))])
  const count = await Promise.race([failed, write(take)])
  await Promise.race([failed, new Promise<void>((done) => file.end(done))])
  return count
}

/** Exports the events that exist at the start, a page at a time. Returns the number of exported events. */
async function exportAll(
  client: RelayClient,
  options: ExportOptions,
  workspace: string,
  take: WriteText,
): Promise<number> {
  const { events: isAll = false, bodies = true, format } = options
  const types = isAll || options.run !== undefined ? undefined : ['message.created']
  const isWanted = filterOf(options)
  let count = 0
  if (format === 'md' && !(await take(`# ${oneLine(workspace)}\n`))) return count
  const { next: last } = await client.call('event.list', { limit: 1 })
  for (let since = 0; since < last; ) {
    const page = await client.call('event.list', { since, before: last + 1, types, limit: limits.eventsPageMax })
    const found = page.events.filter(isWanted).filter(({ message }) => isAll || message !== undefined)
    const texts = found.map((event) =>
      format === 'md'
        ? markdown(event.message as Message, bodies)
        : line(isAll ? event : (event.message as Message), bodies),
    )
    count += found.length
    if (texts.length > 0 && !(await take(texts.join('')))) return count
    since = page.next
  }
  return count
}

function line(value: RelayEvent | Message, hasBodies: boolean): string {
  return safeJson(recordingLine(value, !hasBodies))
}

/** Returns a message as Markdown. Its body is a quotation, so that no line of it looks like the head of another message. */
function markdown({ id, ts, from, to, kind, thread, replyTo, body }: Message, hasBodies: boolean): string {
  const about = [ts, ...(kind === 'free' ? [] : [kind]), id]
  if (replyTo !== undefined) about.push(`reply to ${replyTo}`)
  else if (thread !== undefined) about.push(`thread ${thread}`)
  const text = hasBodies ? cleanText(body).trimEnd() : `(${body.length} characters)`
  return `\n**${oneLine(from)} → ${addressText(to)}** ${about.map(oneLine).join(' · ')}\n\n${text.replace(/^/gm, '> ')}\n`
}

/** Returns a filter for the options' conditions. For a run it keeps state: events of the run's agent match between the run's start and its end. */
function filterOf({ conversation, thread, run }: ExportOptions): (event: RelayEvent) => boolean {
  let agent: string | undefined
  return (event) => {
    const { message } = event
    const fact = event.fact as { id?: string; agent?: string; conversation?: string }
    if (conversation !== undefined && fact.conversation !== conversation) return false
    if (thread !== undefined && message?.thread !== thread && message?.id !== thread) return false
    if (run === undefined) return true
    const isItsOwn = event.type.startsWith('run.') && fact.id === run
    if (isItsOwn) agent = event.type === 'run.started' ? fact.agent : undefined
    return isItsOwn || (agent !== undefined && message !== undefined && isOf(message, agent))
  }
}

function isOf({ from, to }: Message, agent: string): boolean {
  return from === agent || to === agent || (Array.isArray(to) && to.includes(agent))
}

const importOptions = { local: localOption }

export const importCommand: NamedCommand<typeof importOptions> = {
  name: 'import',
  args: '<file> <name>',
  text: 'make a new workspace of the messages in a file that `workspace export` wrote; all of them count as read',
  options: importOptions,
  examples: ['agent-relay workspace import app.jsonl old-app'],
  actsForNoAgent: true,
  run: runImport,
}

async function runImport({ args, options, env, print }: CommandContext<typeof importOptions>): Promise<void> {
  const [file = '', asked = ''] = args
  refuseMemoryRelay(env)
  const name = configuredProject('/', env, asked)
  const path = readableFile(file)
  const { importWorkspace } = await import('../../../daemon/importing.ts')
  const directory = new DataDirectory(dataDir(env))
  await withWorkspacePlacer(env, directory, options, async (place) => {
    if (directory.hasWorkspace(name))
      throw new CommandError(`Workspace ${name} is here already, and nothing is overwritten.`, exitCodes.refused)
    const { messages, agents, leftOut, ...prepared } = await print.during(
      'reading',
      importWorkspace(path, name, directory),
    )
    await place(name, prepared)
    if (print.isJson) return void (await print.json({ workspace: name, id: prepared.id, messages, agents, leftOut }))
    print.say(`Workspace ${name} is made, with ${countedText(messages, 'message')} of ${countedText(agents, 'agent')}.`)
    if (leftOut > 0) print.say(`Lines left out, since they are other events or repeat a message: ${leftOut}.`)
    print.say(`What was said there: agent-relay workspace export --project ${name}`)
  })
}
