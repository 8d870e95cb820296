// `send`: sends one message to an agent, several agents, a channel or everyone; with --wait it waits for the answer.

import type { RelayClient } from '@agent-relay/sdk'
import { listText } from '@agent-relay/sdk/internal/clis'
import { longBodyText } from '@agent-relay/sdk/internal/long-body'
import { noticeText } from '@agent-relay/sdk/internal/notice-text'
import { notReachedText, unreachableText } from '@agent-relay/sdk/internal/unreachable-text'
import type { Message, OutputOf } from '@agent-relay/sdk/protocol'
import { limits } from '@agent-relay/sdk/wire'
import { type CliCommand, type CliOptions, type CommandContext, CommandError, exitCodes } from '../../command.ts'
import { withClient } from '../../connection.ts'
import { addressText, messageBlock } from '../../lines.ts'
import type { Printer } from '../../print.ts'
import { readMessageFromStdin } from '../../stdin.ts'
import { oneLine } from '../../text.ts'

type Sent = OutputOf<'message.send'>

const kinds: readonly Message['kind'][] = ['status', 'question', 'directive', 'free']

const sendOptions = {
  thread: { flags: '--thread <name>', text: 'the thread it belongs to' },
  kind: { flags: '--kind <kind>', text: 'what it is', choices: kinds },
  replyTo: { flags: '--reply-to <id>', text: 'the message it answers' },
  wait: { flags: '--wait', text: 'wait for the answer and print it' },
  timeout: {
    flags: '--timeout <ms>',
    text: `wait at most this long (${limits.waitMsDefault})`,
    number: [1, limits.waitMsMax],
  },
  queue: {
    flags: '--queue',
    text: 'if the shared workspace cannot be reached, keep it on this machine and send it when it can',
  },
  whenIdle: { flags: '--when-idle', text: 'send it now, and be told once when the agent is idle again after it' },
} satisfies CliOptions

export const send: CliCommand<typeof sendOptions> = {
  argumentKind: 'agents',
  options: sendOptions,
  examples: [
    'agent-relay send Bob "Can you take the parser?"',
    'agent-relay send Bob "Which branch?" --kind question --wait --timeout 60000',
    'agent-relay send Ann,Bob "Lunch" --as kim',
    'agent-relay send "*" "The build is broken"',
    'agent-relay send docs:Ann "The API has changed"',
    'agent-relay send Bob "Can you look at the parser?" --queue',
    'agent-relay send Bob "Can you take the parser?" --when-idle',
    'git diff | agent-relay send "#review" -',
    'agent-relay send Bob -- "--force is needed"',
  ],
  run,
}

async function run(context: CommandContext<typeof sendOptions>): Promise<void> {
  const { args, options, print } = context
  const { thread, kind, replyTo, timeout } = options
  if (timeout !== undefined && !options.wait)
    throw new CommandError('--timeout says how long to wait: add --wait', exitCodes.usage)
  const to = recipients(args[0] as string)
  const body = args[1] === '-' ? await readMessageFromStdin(print) : (args[1] as string)
  if (options.queue && options.wait)
    throw new CommandError(
      '--queue or --wait: give only one. The answer to what waits here comes to the inbox.',
      exitCodes.usage,
    )
  if (options.whenIdle && (typeof to !== 'string' || /[#*:]/.test(to) || options.queue))
    throw new CommandError('--when-idle needs one agent of this workspace, and no --queue.', exitCodes.usage)
  const wait = options.wait ? { timeoutMs: timeout } : undefined
  await withClient(context, 'agent', async ({ client }) => {
    if (options.queue) {
      const message = { to, body, thread, kind, replyTo }
      const { sent, queued } = await print.during('sending', client.call('message.queue', message))
      if (print.isJson) return void (await print.json({ sent, queued }))
      if (sent) return void (await print.line(sentLine(print, sent)))
      return void (await print.line(
        `${print.paint('dim', queued?.id ?? '')}  Queued on this machine, not sent. It is sent when the shared workspace is reached again; to see or drop it: agent-relay outbox`,
      ))
    }
    const sending = client.call('message.send', { to, body, thread, kind, replyTo, wait })
    const sent = await print.during(
      wait ? `waiting for the answer of ${addressText(to)}, Ctrl-C gives up` : 'sending',
      sending,
    )
    for (const { to: missed, message } of sent.failed ?? [])
      print.say(`not sent to ${oneLine(missed)}: ${oneLine(message)}`)
    const long = longBodyText(body)
    if (long !== undefined) print.say(long)
    const notice = options.whenIdle ? await askForNotice(client, sent) : undefined
    if (print.isJson) await print.json({ ...sent, notice })
    else if (!sent.reply) await print.line(sentLine(print, sent))
    else if (await print.line(messageBlock(print, sent.reply))) await client.markRead(sent.reply.id)
    if (notice !== undefined && !print.isJson) await print.line(notice)
    if (print.isJson && sent.reply) await client.markRead(sent.reply.id)
  })
}

/** Returns the recipients as typed: `Bob`, `#build`, `*` or `frontend:lead`; with commas the members of a group. */
function recipients(text: string): string | string[] {
  if (!text.includes(',')) return text
  const names = text.split(',').map((name) => name.trim())
  return names.filter((name) => name !== '')
}

/** Asks the daemon for a notice when the recipient is idle. If it refuses, that is only printed, since the message was sent. */
async function askForNotice(client: RelayClient, { id, to }: Sent): Promise<string> {
  const agent = String(to)
  try {
    const { already } = await client.call('notice.ask', { agent, when: 'idle', message: id })
    return oneLine(noticeText(agent, 'idle', already))
  } catch (error) {
    return `It is sent, but you are not told when ${oneLine(agent)} is idle: ${oneLine((error as Error).message)}`
  }
}

/** Returns the line about a sent message: `m_… stored. Bob is away; it waits in their inbox.` */
function sentLine(print: Printer, sent: Sent): string {
  return `${print.paint('dim', oneLine(sent.id))}  stored. ${whereabouts(sent)}`
}

function whereabouts({ to, away: names, unreachable = [], notReached = [] }: Sent): string {
  const away = names.map(oneLine)
  const lost = [unreachableText(unreachable), notReachedText(notReached)].filter((each) => each !== undefined).join(' ')
  if (lost !== '') return [oneLine(lost), ...(away.length > 0 ? [`Away: ${listText(away)}.`] : [])].join(' ')
  if (away.length === 1) return `${away[0]} is away; it waits in their inbox.`
  if (away.length > 1) return `${listText(away)} are away; it waits in their inboxes.`
  if (typeof to !== 'string') return `${listText(to.map(oneLine))} are connected.`
  if (to.startsWith('#')) return `It is in ${oneLine(to)} for all its members.`
  if (to.endsWith('*')) return `It waits for everyone ${to === '*' ? 'here' : `of ${oneLine(to)}`}.`
  return `${oneLine(to)} is connected.`
}
