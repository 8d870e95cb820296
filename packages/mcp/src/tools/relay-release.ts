// relay_release: ends a worker, which is an agent that the daemon runs.

import { z } from 'zod'
import type { ToolClient } from '../client.ts'
import { defineTool, type TextAnswer, type Tool } from './tool.ts'

export const relayReleaseSchema = z.object({
  name: z.string().describe('Name of the worker'),
  reason: z.string().optional().describe('Why'),
})
export type RelayReleaseInput = z.input<typeof relayReleaseSchema>

export const relayReleaseTool: Tool = defineTool({
  name: 'relay_release',
  title: 'Release a worker',
  description: 'End a worker that is done or no longer needed.',
  input: relayReleaseSchema,
  hints: { destructive: true, idempotent: true },
  run,
})

async function run(client: ToolClient, input: RelayReleaseInput): Promise<TextAnswer> {
  const { name, reason } = input
  const { success, error, note } = await client.release(name, reason)
  if (!success) return { text: `Failed to release worker: ${error}`, isError: true }
  return { text: `Worker "${name}" released.${note === undefined ? '' : ` ${note}`}` }
}

export async function handleRelayRelease(
  client: Pick<ToolClient, 'release'>,
  input: RelayReleaseInput,
): Promise<string> {
  return (await run(client as ToolClient, input)).text
}
