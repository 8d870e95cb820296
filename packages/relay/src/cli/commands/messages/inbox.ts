// `inbox`: prints the unread messages. A message is marked as read after it was printed and the text has left this process.

import type { RelayClient } from '@agent-relay/sdk'
import type { OutputOf } from '@agent-relay/sdk/protocol'
import { limits } from '@agent-relay/sdk/wire'
import {
  type CliCommand,
  type CliOptions,
  type CommandContext,
  CommandError,
  exitCodes,
  type OptionValues,
} from '../../command.ts'
import { withClient } from '../../connection.ts'
import { endingSignal } from '../../ending.ts'
import { announceDisconnects, followEvents } from '../../feed.ts'
import { messageBlock, messageBlocks } from '../../lines.ts'
import { channelOption, fromOption, limitOption } from '../../options.ts'
import type { Printer } from '../../print.ts'
import { oneLine } from '../../text.ts'

const shownDefault = 50

type Page = OutputOf<'inbox.take'>

const inboxOptions = {
  peek: { flags: '--peek', text: 'only look: it stays unread' },
  all: { flags: '--all', text: 'include what was read before' },
  from: fromOption,
  channel: channelOption,
  thread: { flags: '--thread <name>', text: 'only in this thread' },
  before: { flags: '--before <id>', text: 'include what was read, before this message' },
  limit: limitOption,
  follow: { flags: '--follow', text: 'keep showing new messages, until Ctrl-C' },
} satisfies CliOptions
type InboxOptions = OptionValues<typeof inboxOptions>

export const inbox: CliCommand<typeof inboxOptions> = {
  options: inboxOptions,
  examples: ['agent-relay inbox', 'agent-relay inbox --peek --from Alice', 'agent-relay inbox --follow --as Bob'],
  run,
}

async function run(context: CommandContext<typeof inboxOptions>): Promise<void> {
  const { options } = context
  if (options.follow && (options.peek || options.all || options.before || options.limit !== undefined)) {
    throw new CommandError(
      '--follow shows new messages and marks them as read: leave out --peek, --all, --before and --limit',
      exitCodes.usage,
    )
  }
  await withClient(context, 'agent', ({ client }) =>
    options.follow ? followInbox(client, context) : showInbox(client, context),
  )
}

async function showInbox(client: RelayClient, context: CommandContext<typeof inboxOptions>): Promise<void> {
  const { options, print } = context
  if (!options.peek && !looksBack(options)) return showUnread(client, context)
  const page = await lookOnce(client, context)
  const unread = page.messages.filter(({ receipt }) => receipt !== 'read')
  const hasLeft = await showPage(print, page, options)
  if (hasLeft && !options.peek && unread.length > 0) await client.markRead(unread.map(({ id }) => id))
}

/**
 * Prints unread messages, a page at a time. Each page is marked as read before the next one is taken: the daemon counts a page as read when the next one is
 * taken, even if it was not printed.
 */
async function showUnread(client: RelayClient, { options, print }: CommandContext<typeof inboxOptions>): Promise<void> {
  for (let wanted = options.limit ?? shownDefault; wanted > 0; ) {
    const limit = Math.min(wanted, limits.pageMessagesMax)
    const page = await client.call('inbox.take', { ...filterOf(options), limit })
    const count = page.messages.length
    wanted = page.more === 0 || count === 0 ? 0 : wanted - count
    if (!(await showPage(print, page, options, wanted > 0)) || count === 0) return
    await client.markRead(page.messages.map(({ id }) => id))
  }
}

function showPage(print: Printer, page: Page, options: InboxOptions, goesOn = false): Promise<boolean> {
  if (print.isJson) return print.json(page)
  const { messages, more } = page
  if (messages.length === 0) {
    print.say(looksBack(options) ? 'No messages.' : 'No unread messages.')
    return Promise.resolve(true)
  }
  const left = print.line(messageBlocks(print, messages))
  if (more > 0 && !goesOn)
    print.say(
      looksBack(options)
        ? `${more} older: --before ${oneLine(messages[0]?.id ?? '')}`
        : `${more} more: agent-relay inbox`,
    )
  return left
}

function looksBack({ all, before }: InboxOptions): boolean {
  return all === true || before !== undefined
}

/** Returns one page of the history, or of unread messages with `--peek`. Neither marks messages, so asking again would give the same page. */
async function lookOnce(client: RelayClient, { options }: CommandContext<typeof inboxOptions>): Promise<Page> {
  const limit = Math.min(options.limit ?? shownDefault, limits.pageMessagesMax)
  const input = { ...filterOf(options), limit, unreadOnly: !looksBack(options), before: options.before }
  return options.peek ? client.call('inbox.peek', input) : client.call('inbox.take', input)
}

/** Prints new messages until the command ends. An event only triggers a look into the inbox, from which the messages come: so filters and read marks apply. */
async function followInbox(
  client: RelayClient,
  { options, print }: CommandContext<typeof inboxOptions>,
): Promise<void> {
  const ending = endingSignal()
  const bell = new Bell()
  announceDisconnects(client, print, ending)
  client.on('ready', () => bell.ring())
  ending.addEventListener('abort', () => bell.ring())
  const timer = setInterval(() => bell.ring(), limits.lookAgainMs)
  const following = followEvents(client, { types: ['message.created'], newest: 1 }, () => bell.ring(), ending)
  const showing = (async () => {
    if (!print.isJson) print.say(`Following the inbox of ${client.agentName}; Ctrl-C ends.`)
    while (!ending.aborted) {
      await showNew(client, options, print)
      await bell.rung()
    }
  })()
  try {
    await Promise.race([following, showing])
    await showing
  } finally {
    clearInterval(timer)
  }
}

async function showNew(client: RelayClient, options: InboxOptions, print: Printer): Promise<void> {
  for (let more = 1; more > 0; ) {
    // If the connection is lost, the loop looks again after the next connection.
    const page = await client.call('inbox.take', filterOf(options)).catch(ignoreRetryable)
    if (!page) return
    for (const message of page.messages) {
      const left = print.isJson ? print.json(message) : print.line(`${messageBlock(print, message)}\n`)
      if (!(await left)) return
    }
    if (page.messages.length > 0) await client.markRead(page.messages.map(({ id }) => id)).catch(ignoreRetryable)
    more = page.messages.length > 0 ? page.more : 0
  }
}

function ignoreRetryable(error: { retry?: boolean }): undefined {
  if (error.retry !== true) throw error
}

function filterOf({ from, channel, thread }: InboxOptions) {
  return { from, channel, thread }
}

/** A signal that is remembered if it is given while nobody waits for it. */
class Bell {
  #isRung = false
  #wake: (() => void) | undefined

  ring(): void {
    this.#isRung = true
    this.#wake?.()
  }

  async rung(): Promise<void> {
    if (!this.#isRung) await new Promise<void>((resolve) => (this.#wake = resolve))
    this.#isRung = false
  }
}
