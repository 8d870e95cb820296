// `inbox`: what waits for you. What was printed, and has left this process, is marked read; nothing else is.

import { limits, type OutputOf, type RelayClient } from '@agent-relay/sdk'
import { CommandError, exits, type Invocation, type Run } from '../command.ts'
import { withClient } from '../context.ts'
import { awaitEnding } from '../ending.ts'
import { follow, sayLosses } from '../following.ts'
import { messageBlock, messageBlocks } from '../lines.ts'
import type { Print } from '../print.ts'

const shownDefault = 50
/** A wake-up may be lost: look again this often. */
const lookAgainMs = 30_000

type Page = OutputOf<'inbox.take'>

export const run: Run = async (invocation) => {
  const { options } = invocation
  if (options.follow && (options.peek || options.all || options.limit !== undefined)) {
    throw new CommandError(
      '--follow shows what is new and marks it read: it goes without --peek, --all and --limit',
      exits.usage,
    )
  }
  await withClient(invocation, 'agent', ({ client }) =>
    options.follow ? followInbox(client, invocation) : showInbox(client, invocation),
  )
}

async function showInbox(client: RelayClient, invocation: Invocation): Promise<void> {
  const { options, print } = invocation
  if (!options.peek && !options.all) return showUnread(client, invocation)
  const page = await lookOnce(client, invocation)
  const unread = page.messages.filter(({ receipt }) => receipt !== 'read')
  const hasLeft = await showPage(print, page, options)
  if (hasLeft && !options.peek && unread.length > 0) await client.markRead(unread.map(({ id }) => id))
}

/** Page by page, each marked before the next is taken: the next call would count it as read, whether it was printed or not. */
async function showUnread(client: RelayClient, { options, print }: Invocation): Promise<void> {
  for (let wanted = options.limit ?? shownDefault; wanted > 0; ) {
    const limit = Math.min(wanted, limits.pageMessagesMax)
    const page = await client.call('inbox.take', { ...filterOf(options), limit })
    const count = page.messages.length
    wanted = page.more === 0 || count === 0 ? 0 : wanted - count
    if (!(await showPage(print, page, options, wanted > 0)) || count === 0) return
    await client.markRead(page.messages.map(({ id }) => id))
  }
}

function showPage(print: Print, page: Page, options: Invocation['options'], goesOn = false): Promise<boolean> {
  if (print.isJson) return print.json(page)
  const { messages, more } = page
  if (messages.length === 0) {
    print.say(options.all ? 'No messages.' : 'No unread messages.')
    return Promise.resolve(true)
  }
  const left = print.line(messageBlocks(print, messages))
  if (more > 0 && !goesOn)
    print.say(options.all ? `${more} older: --limit shows more.` : `${more} more: agent-relay inbox`)
  return left
}

/** History and peeking change nothing, so a second page would be the first one again: one page is all. */
async function lookOnce(client: RelayClient, { options }: Invocation): Promise<Page> {
  const limit = Math.min(options.limit ?? shownDefault, limits.pageMessagesMax)
  const input = { ...filterOf(options), limit, unreadOnly: !options.all }
  return options.peek ? client.call('inbox.peek', input) : client.call('inbox.take', input)
}

/** Events only say that it is time to look; what is shown comes out of the inbox, so that filters and read marks hold. */
async function followInbox(client: RelayClient, { options, print }: Invocation): Promise<void> {
  const ending = awaitEnding()
  const bell = new Bell()
  sayLosses(client, print, ending)
  client.on('ready', () => bell.ring())
  ending.addEventListener('abort', () => bell.ring())
  const timer = setInterval(() => bell.ring(), lookAgainMs)
  const following = follow(client, { types: ['message.created'] }, () => bell.ring(), ending)
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

async function showNew(client: RelayClient, options: Invocation['options'], print: Print): Promise<void> {
  for (let more = 1; more > 0; ) {
    // Away: the daemon's return rings again.
    const page = await client.call('inbox.take', filterOf(options)).catch(passing)
    if (!page) return
    for (const message of page.messages) {
      const left = print.isJson ? print.json(message) : print.line(`${messageBlock(print, message)}\n`)
      if (!(await left)) return
    }
    if (page.messages.length > 0) await client.markRead(page.messages.map(({ id }) => id)).catch(passing)
    more = page.messages.length > 0 ? page.more : 0
  }
}

function passing(error: { retry?: boolean }): undefined {
  if (error.retry !== true) throw error
}

function filterOf({ from, channel, thread }: Invocation['options']) {
  return { from, channel, thread }
}

/** Rings that come while nobody waits are kept, as one. */
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
