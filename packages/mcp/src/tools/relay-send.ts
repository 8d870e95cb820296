// relay_send: a message to an agent, a channel or everyone, with or without waiting for the answer.

import { RelayError } from '@agent-relay/sdk'
import { cleanLineForModel } from '@agent-relay/sdk/internal/clean'
import { longBodyText } from '@agent-relay/sdk/internal/long-body'
import { noticeText, occasionTexts } from '@agent-relay/sdk/internal/notice-text'
import { notReachedText, unreachableText } from '@agent-relay/sdk/internal/unreachable-text'
import { limits, NoticeOccasion, type OutputOf } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { parseAddress, type ToolClient } from '../client.ts'
import { absentRecipientsText, answerBytesMax, bodyOnSameLine, truncateWithNote } from '../text.ts'
import { defineTool, type TextAnswer, type Tool } from './tool.ts'

/** Bytes that are reserved for the lines below a reply. */
const lastLinesBytesMax = 256

export const relaySendSchema = z.object({
  to: z.string().min(1).describe('Agent name, #channel, * for everyone, or project:name'),
  message: z.string().min(1).describe('Message content'),
  thread: z.string().optional().describe('Thread ID, or the id you answer'),
  queue: z.boolean().optional(),
  notify: NoticeOccasion.exclude(['ended']).optional().describe('Message me when so'),
  create: z.boolean().optional().describe('Make a missing channel'),
  await_response: z.boolean().optional().default(false).describe('Wait for the reply'),
  timeout_ms: z
    .number()
    .int()
    .min(1)
    .max(limits.waitMsMax)
    .optional()
    .describe(`How long to wait, in ms (${limits.waitMsDefault})`),
})
export type RelaySendInput = z.input<typeof relaySendSchema>

export const relaySendTool: Tool = defineTool({
  name: 'relay_send',
  title: 'Send a message',
  description: `Send a message to another agent. It is stored safely even if the recipient is away.

Examples:
- to="#general", message="Team update"
- to="Bob", message="Which branch?", await_response=true`,
  input: relaySendSchema,
  hints: {},
  run: sendAndReport,
})

type SendingClient = Pick<ToolClient, 'send' | 'queue' | 'sendAndWait'> & Partial<Pick<ToolClient, 'call'>>

/** The tool as a function for programs: returns only the answer's first line. */
export async function handleRelaySend(client: SendingClient, input: RelaySendInput): Promise<string> {
  return (await sendAndReport(client, input)).text
}

async function sendAndReport(client: SendingClient, input: RelaySendInput): Promise<TextAnswer> {
  const { to, message, thread, create, queue, await_response, timeout_ms, notify } = input
  if (notify !== undefined) checkNotice(input)
  const below = (id: string | undefined, ...lines: (string | undefined)[]) =>
    [...lines, longBodyText(message), id && `id: ${id}`].filter((line) => line !== undefined).join('\n')
  if (await_response) {
    const reply = await client
      .sendAndWait(to, message, { thread, create, timeoutMs: timeout_ms })
      .catch(absentRecipients)
    if ('away' in reply) return answer(`Message sent to ${to}`, below(reply.id, reply.away))
    const { id, from, content } = reply
    const text = truncateWithNote(
      `Response from ${from}: ${bodyOnSameLine(content)}`,
      answerBytesMax - lastLinesBytesMax,
    )
    return answer(text, below(id))
  }
  const options = { thread, create }
  const { sent, queued }: OutputOf<'message.queue'> =
    queue && client.queue ? await client.queue(to, message, options) : { sent: await client.send(to, message, options) }
  if (queued)
    return answer(
      `Message to ${to} queued on this machine, not sent`,
      `It is sent by itself when the shared workspace is reached again (${queued.id}).`,
    )
  const { id, to: reached = to, away = [], unreachable = [], notReached = [], failed = [] } = sent ?? {}
  const missed = failed.map(({ to, message }) => `Not delivered to ${to}: ${message}`)
  const notice = notify && (await askForNotice(client, reached, notify, id))
  const whom = isAlias(to) && reached !== to ? `It went to ${reached}.` : undefined
  return answer(
    `Message sent to ${to}`,
    below(
      id,
      whom,
      absentRecipientsText(away),
      unreachableText(unreachable),
      notReachedText(notReached),
      notice,
      ...missed,
    ),
  )
}

/** Refuses `notify` before anything is sent, if no notice could be given: a notice is about one agent, which gets the message now. */
function checkNotice({ to, queue, await_response }: RelaySendInput): void {
  const isOne = typeof parseAddress(to) === 'string' && !/[#*:]/.test(to)
  if (isOne && !queue && !await_response) return
  throw new RelayError('notify needs one agent of this workspace in "to", and neither queue nor await_response.', {
    code: 'input.invalid',
  })
}

/** Asks for a notice. The message is sent already, so a refusal of the notice must not read as if the message were not. */
async function askForNotice(client: SendingClient, to: string | string[], when: 'idle' | 'answered', message?: string) {
  const agent = String(to)
  const asked = client.call?.('notice.ask', { agent, when, message })
  return asked?.then(
    ({ already }) => noticeText(agent, when, already && cleanLineForModel(already)),
    (error: Error) => `It is sent, but you are not told when ${agent} ${occasionTexts[when]}: ${error.message}`,
  )
}

/** Builds the answer: its main line in the first content block, and everything else in the next one. */
function answer(text: string, note: string): TextAnswer {
  return note === '' ? { text } : { text, note }
}

/** Whether the address is a role (`lead`) or a handle (`@…`), which stands for an agent of another name. */
function isAlias(to: string): boolean {
  return /^(?:[^:]*:)?(?:lead|@.+)$/.test(to)
}

/** Turns the error of a wait for absent recipients into an answer: the message was sent, so the call has not failed. */
function absentRecipients(error: unknown): { away: string; id: string | undefined } {
  if (!(error instanceof RelayError) || error.code !== 'wait.gone') throw error
  return { away: error.message, id: error.details.message as string | undefined }
}
