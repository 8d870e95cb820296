// relay_status: the caller's own agent, and the state of the relay. With `agent`: another agent's state, its screen, and a notice about it on
// request.

import { RelayError } from '@agent-relay/sdk'
import { cleanLineForModel } from '@agent-relay/sdk/internal/clean'
import { statusTool } from '@agent-relay/sdk/internal/no-daemon-answers'
import { noticeText } from '@agent-relay/sdk/internal/notice-text'
import { NoticeOccasion } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import type { ToolClient } from '../client.ts'
import { answerBytesMax, clipText, indentedForModel } from '../text.ts'
import { agentLine } from './relay-who.ts'
import { defineTool, type Tool } from './tool.ts'

const linesMax = 100
/** Maximum bytes of a screen's text: indentation makes it at most three times as long, and the answer has other lines. */
const screenBytesMax = answerBytesMax / 4

export const relayStatusSchema = z.object({
  agent: z.string().optional().describe('Status of this agent'),
  notify: NoticeOccasion.optional().describe('Message me when so'),
  lines: z.number().int().min(1).max(linesMax).optional().describe('Last lines of its screen'),
})
export type RelayStatusInput = z.input<typeof relayStatusSchema>

export const relayStatusTool: Tool = defineTool({
  name: statusTool.name,
  title: statusTool.title,
  description: statusTool.description,
  input: relayStatusSchema,
  // `notify` changes nothing but what its caller is told later, so the tool counts as reading.
  hints: { readOnly: true, idempotent: true },
  run: async (client, input) =>
    input.agent === undefined ? handleRelayStatus(client, input) : agentStatus(client, input.agent, input),
})

export async function handleRelayStatus(
  client: Pick<ToolClient, 'getStatus'>,
  { notify, lines }: RelayStatusInput,
): Promise<string> {
  if (notify !== undefined || lines !== undefined)
    throw new RelayError('Say of which agent: agent="…".', { code: 'input.invalid' })
  const { connected, agentName, project, socketPath, daemonVersion, uptime } = await client.getStatus()
  return [
    'Relay Status:',
    `- Connected: ${connected ? 'Yes' : 'No'}`,
    `- Agent Name: ${agentName || 'Not registered'}`,
    `- Project: ${project || 'Unknown'}`,
    `- Socket: ${socketPath}`,
    `- Daemon Version: ${daemonVersion || 'Unknown'}`,
    `- Uptime: ${uptime || 'N/A'}`,
  ].join('\n')
}

/** Reads everything before it asks for the notice: if reading is refused, no notice is kept. */
async function agentStatus(client: ToolClient, name: string, { notify, lines }: RelayStatusInput): Promise<string> {
  const { agents } = await client.call('agent.list', { name })
  const told = agents.flatMap((agent) => [
    agentLine({ ...agent, idle: agent.status === 'idle' }),
    ...(agent.task === undefined ? [] : [`Task: ${cleanLineForModel(agent.task)}`]),
  ])
  const screen = lines === undefined ? '' : await screenOf(client, name, lines)
  if (notify !== undefined) {
    const { already } = await client.call('notice.ask', { agent: name, when: notify })
    told.push(noticeText(name, notify, already && cleanLineForModel(already)))
  }
  return told.join('\n') + screen
}

/** The screen, indented by two columns, so that none of its lines can pass for one of ours. */
async function screenOf(client: ToolClient, name: string, lines: number): Promise<string> {
  const { text, exited } = await client.call('worker.screen', { name, lines })
  const ended = exited === undefined ? '' : `\n${cleanLineForModel(exited)}`
  return `${ended}\nThe last lines of its screen:\n${indentedForModel(clipText(text.trimEnd(), screenBytesMax))}`
}
