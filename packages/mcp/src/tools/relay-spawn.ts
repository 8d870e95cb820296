// relay_spawn: hire a worker, a CLI agent that the daemon starts.

import { z } from 'zod'
import type { ToolClient } from '../client.ts'
import { type Tool, type ToolAnswer, tool } from './tool.ts'

export const relaySpawnSchema = z.object({
  name: z.string().describe('Unique name for the worker'),
  cli: z.enum(['claude', 'codex', 'gemini', 'droid', 'opencode']).describe('CLI to run'),
  task: z.string().describe('What the worker shall do'),
  model: z.string().optional().describe('Model override'),
  cwd: z.string().optional().describe('Working directory'),
})
export type RelaySpawnInput = z.input<typeof relaySpawnSchema>

const output = z.object({ name: z.string(), success: z.boolean(), error: z.string().optional() })

export const relaySpawnTool: Tool = tool({
  name: 'relay_spawn',
  title: 'Spawn a worker',
  description: `Start a worker agent for a subtask, in its own process. It messages you when it is ready.

Example: name="TestRunner", cli="claude", task="Run the test suite and report failures"`,
  input: relaySpawnSchema,
  output,
  hints: { openWorld: true },
  run,
})

async function run(client: ToolClient, input: RelaySpawnInput): Promise<ToolAnswer<z.infer<typeof output>>> {
  const { name } = input
  const { success, error, note } = await client.spawn(input)
  if (!success) return { text: `Failed to spawn worker: ${error}`, structured: { name, success, error }, isError: true }
  return {
    text: `Worker "${name}" spawned successfully. It will message you when ready.${note === undefined ? '' : `\n${note}`}`,
    structured: { name, success },
  }
}

export async function handleRelaySpawn(client: Pick<ToolClient, 'spawn'>, input: RelaySpawnInput): Promise<string> {
  return (await run(client as ToolClient, input)).text
}
