// `search`, `thread`, `receipts` and `react`: find messages that were sent before, and put an emoji on one.

import { searchMessages, threadMessages } from '@agent-relay/sdk/internal/client'
import type { Message, Receipt, RelayEvent } from '@agent-relay/sdk/protocol'
import { readArchive } from '../../archive.ts'
import type { CliCommand, CliOptions, CommandContext } from '../../command.ts'
import { withClient } from '../../connection.ts'
import { messageBlocks } from '../../lines.ts'
import { channelOption, fromOption, limitOption } from '../../options.ts'
import { dateTimeText, oneLine } from '../../text.ts'

const searchOptions = {
  from: fromOption,
  channel: channelOption,
  limit: { ...limitOption, text: 'show at most this many (20)' },
  archive: {
    flags: '--archive',
    text: 'search the pruned messages (needs the workspace key): each must have all of the words',
  },
} satisfies CliOptions

export const search: CliCommand<typeof searchOptions> = {
  options: searchOptions,
  examples: [
    'agent-relay search parser',
    'agent-relay search "flaky test" --from Alice',
    'agent-relay search parser --archive',
  ],
  run: runSearch,
}

async function runSearch(context: CommandContext<typeof searchOptions>): Promise<void> {
  const { args, options, print } = context
  const { from, channel, limit } = options
  await withClient(context, options.archive ? 'holder' : 'agent', async ({ client, welcome }) => {
    const asked = { text: args[0] as string, from, channel, limit }
    const found = await print.during(
      'searching',
      options.archive ? searchArchive(context, welcome.workspace) : searchMessages(client, asked),
    )
    if (print.isJson) return void (await print.json(found))
    if (found.messages.length === 0) return print.say('Nothing found.')
    await print.line(messageBlocks(print, found.messages))
    if (found.more > 0) print.say('There are more: --limit shows them.')
  })
}

/** Searches the archive of pruned messages, newest first, like the search of stored messages. */
async function searchArchive(
  { args, options, env }: CommandContext<typeof searchOptions>,
  workspace: string,
): Promise<{ messages: Message[]; more: number }> {
  const { from, channel, limit = 20 } = options
  const words = (args[0] as string).toLowerCase().split(/\s+/)
  const isWanted = ({ message }: RelayEvent) =>
    message !== undefined &&
    words.every((word) => message.body.toLowerCase().includes(word)) &&
    (from === undefined || message.from === from) &&
    (channel === undefined || message.channel === channel)
  const { events, more } = await readArchive(env, workspace, { limit, keepsOldest: false, isWanted })
  return { messages: events.flatMap(({ message }) => message ?? []).reverse(), more }
}

const threadOptions = { limit: { ...limitOption, text: 'show at most this many (100)' } } satisfies CliOptions

export const thread: CliCommand<typeof threadOptions> = {
  argumentKind: 'messages',
  options: threadOptions,
  examples: ['agent-relay thread task-123', 'agent-relay thread m_01kabc'],
  run: runThread,
}

async function runThread(context: CommandContext<typeof threadOptions>): Promise<void> {
  const { args, options, print } = context
  await withClient(context, 'agent', async ({ client }) => {
    const found = await threadMessages(client, { thread: args[0] as string, limit: options.limit })
    if (print.isJson) return void (await print.json(found))
    if (found.messages.length === 0) return print.say('You cannot see any message of that thread.')
    await print.line(messageBlocks(print, found.messages))
    if (found.more > 0) print.say(`${found.more} more: --limit shows them.`)
  })
}

export const receipts: CliCommand = {
  argumentKind: 'messages',
  examples: ['agent-relay receipts m_01kabc'],
  run: runReceipts,
}

async function runReceipts(context: CommandContext): Promise<void> {
  const { args, print } = context
  await withClient(context, 'agent', async ({ client }) => {
    const found = await client.call('message.receipts', { message: args[0] as string })
    if (print.isJson) return void (await print.json(found))
    if (found.receipts.length === 0) return print.say('The message had no recipient.')
    const columns = ['', '', '', '', ''].map((head) => ({ head }))
    await print.table(columns, found.receipts.map(receiptRow))
  })
}

/** Returns a receipt as a row: `Bob stored 14:41:07 offered 14:41:19 (paste) read 14:41:22` */
function receiptRow({ agent, storedAt, offeredAt, route, readAt, machine }: Receipt): string[] {
  return [
    oneLine(agent),
    `stored ${dateTimeText(storedAt)}`,
    offeredAt === undefined ? '' : `offered ${dateTimeText(offeredAt)}${route === undefined ? '' : ` (${route})`}`,
    readAt === undefined ? '' : `read ${dateTimeText(readAt)}`,
    machine === undefined ? '' : `as ${oneLine(machine)} has told, up to a second ago`,
  ]
}

const reactOptions = { remove: { flags: '--remove', text: 'take it off again' } } satisfies CliOptions

export const react: CliCommand<typeof reactOptions> = {
  argumentKind: 'messages',
  options: reactOptions,
  examples: ['agent-relay react m_01kabc 👍'],
  run: runReact,
}

async function runReact(context: CommandContext<typeof reactOptions>): Promise<void> {
  const { args, options, print } = context
  const [message, emoji] = args as [string, string]
  await withClient(context, 'agent', async ({ client }) => {
    const done = await client.call('message.react', { message, emoji, remove: options.remove })
    if (print.isJson) await print.json(done)
    else await print.line(`${oneLine(emoji)} ${options.remove ? 'taken off' : 'put on'} ${oneLine(message)}`)
  })
}
