// relay_send: a message to an agent, a channel or everyone, with or without waiting for the answer.

import { limits } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import type { ToolClient } from '../client.ts'
import { cut, hanging } from '../text.ts'
import { type Tool, type ToolAnswer, tool } from './tool.ts'

export const relaySendSchema = z.object({
  to: z.string().min(1).describe('Agent name, #channel, * for everyone, or project:name'),
  message: z.string().min(1).describe('Message content'),
  thread: z.string().optional().describe('Thread ID, or the id of the message you answer'),
  await_response: z.boolean().optional().default(false).describe('Wait for the reply'),
  timeout_ms: z
    .number()
    .int()
    .min(1)
    .max(limits.waitMsMax)
    .optional()
    .default(limits.waitMsDefault)
    .describe('How long to wait, in ms'),
})
export type RelaySendInput = z.input<typeof relaySendSchema>

const output = z.object({
  id: z.string().optional(),
  to: z.string(),
  away: z.array(z.string()).optional(),
  response: z.object({ id: z.string(), from: z.string(), body: z.string() }).optional(),
})

export const relaySendTool: Tool = tool({
  name: 'relay_send',
  title: 'Send a message',
  description: `Send a message to another agent. It is stored safely even if the recipient is away.

Examples:
- Direct: to="Alice", message="Hello"
- Channel: to="#general", message="Team update"
- Broadcast: to="*", message="System notice"
- Thread: to="Bob", message="Follow up", thread="task-123"
- Await reply: to="Worker", message="Process this", await_response=true`,
  input: relaySendSchema,
  output,
  hints: {},
  run,
})

async function run(client: ToolClient, input: RelaySendInput): Promise<ToolAnswer<z.infer<typeof output>>> {
  const { to, message, thread, await_response, timeout_ms } = input
  if (await_response) {
    const reply = await client.sendAndWait(to, message, { thread, timeoutMs: timeout_ms })
    const { id, from, content } = reply
    return {
      text: cut(`Response from ${from}: ${hanging(content)}`),
      structured: { to, response: { id, from, body: content } },
    }
  }
  const sent = await client.send(to, message, { thread })
  const { id, away = [], failed = [] } = sent ?? {}
  const lines = [`Message sent to ${to}`]
  if (away.length === 1) lines.push(`${away[0]} is away; it waits in that inbox.`)
  if (away.length > 1) lines.push(`${away.join(', ')} are away; it waits in their inboxes.`)
  for (const { to: missed, message: why } of failed) lines.push(`Not delivered to ${missed}: ${why}`)
  return { text: lines.join('\n'), structured: { id, to, ...(away.length > 0 ? { away } : {}) } }
}

export async function handleRelaySend(
  client: Pick<ToolClient, 'send' | 'sendAndWait'>,
  input: RelaySendInput,
): Promise<string> {
  return (await run(client as ToolClient, input)).text
}
