// `search`, `receipts`, `thread` and `react`: what can be asked and said about messages that are there already.

import type { Receipt } from '@agent-relay/sdk/protocol'
import type { Run } from '../command.ts'
import { withClient } from '../context.ts'
import { messageBlocks } from '../lines.ts'
import { dateTimeOf, oneLine } from '../text.ts'

export const search: Run = async (invocation) => {
  const { args, options, print } = invocation
  const { from, channel, limit } = options
  await withClient(invocation, 'agent', async ({ client }) => {
    const found = await print.during(
      'searching',
      client.call('message.search', { text: args[0] as string, from, channel, limit }),
    )
    if (print.isJson) return void (await print.json(found))
    if (found.messages.length === 0) return print.say('Nothing found.')
    await print.line(messageBlocks(print, found.messages))
    if (found.more > 0) print.say('There are more: --limit shows them.')
  })
}

export const thread: Run = async (invocation) => {
  const { args, options, print } = invocation
  await withClient(invocation, 'agent', async ({ client }) => {
    const found = await client.call('message.thread', { thread: args[0] as string, limit: options.limit })
    if (print.isJson) return void (await print.json(found))
    if (found.messages.length === 0) return print.say('No message of that thread is known to you.')
    await print.line(messageBlocks(print, found.messages))
    if (found.more > 0) print.say(`${found.more} more: --limit shows them.`)
  })
}

export const receipts: Run = async (invocation) => {
  const { args, print } = invocation
  await withClient(invocation, 'agent', async ({ client }) => {
    const found = await client.call('message.receipts', { message: args[0] as string })
    if (print.isJson) return void (await print.json(found))
    if (found.receipts.length === 0) return print.say('The message had no recipient.')
    const columns = ['', '', '', ''].map((head) => ({ head }))
    await print.table(columns, found.receipts.map(receiptRow))
  })
}

/** `Bob    stored 14:41:07   offered 14:41:19 (paste)   read 14:41:22` */
function receiptRow({ agent, storedAt, offeredAt, route, readAt }: Receipt): string[] {
  return [
    oneLine(agent),
    `stored ${dateTimeOf(storedAt)}`,
    offeredAt === undefined ? '' : `offered ${dateTimeOf(offeredAt)}${route === undefined ? '' : ` (${route})`}`,
    readAt === undefined ? '' : `read ${dateTimeOf(readAt)}`,
  ]
}

export const react: Run = async (invocation) => {
  const { args, options, print } = invocation
  const [message, emoji] = args as [string, string]
  await withClient(invocation, 'agent', async ({ client }) => {
    const done = await client.call('message.react', { message, emoji, remove: options.remove })
    if (print.isJson) await print.json(done)
    else await print.line(`${oneLine(emoji)} ${options.remove ? 'taken off' : 'put on'} ${oneLine(message)}`)
  })
}
