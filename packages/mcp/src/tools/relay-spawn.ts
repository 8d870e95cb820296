// relay_spawn: hires a worker, which is a CLI agent that the daemon starts.

import { clisWith } from '@agent-relay/sdk/internal/clis'
import { z } from 'zod'
import type { ToolClient } from '../client.ts'
import { defineTool, type TextAnswer, type Tool } from './tool.ts'

/** The CLIs that a tool may start: only workers with our tools can message you. The others are for people at a terminal: `agent-relay spawn`. */
const clis = clisWith('worker').filter(({ worker }) => worker === 'mcp')

export const relaySpawnSchema = z.object({
  name: z.string().describe('Unique name'),
  cli: z.enum(clis.map(({ name }) => name)).describe('CLI to run'),
  task: z.string().describe('What the worker should do'),
  model: z.string().optional().describe('Model override'),
  cwd: z.string().optional().describe('Working directory'),
  worktree: z.boolean().optional().describe('In its own git worktree'),
})
export type RelaySpawnInput = z.input<typeof relaySpawnSchema>

export const relaySpawnTool: Tool = defineTool({
  name: 'relay_spawn',
  title: 'Spawn a worker',
  description: `Start a worker agent for a subtask. It messages you when ready.

Example: name="TestRunner", cli="claude", task="Run the test suite and report failures"`,
  input: relaySpawnSchema,
  hints: { openWorld: true },
  run,
})

async function run(client: ToolClient, input: RelaySpawnInput): Promise<TextAnswer> {
  const { name } = input
  const { success, error, note } = await client.spawn(input)
  if (!success) return { text: `Failed to spawn worker: ${error}`, isError: true }
  const more = note === undefined ? '' : `\n${note}`
  return { text: `Worker "${name}" spawned successfully. It will message you when ready.${more}` }
}

export async function handleRelaySpawn(client: Pick<ToolClient, 'spawn'>, input: RelaySpawnInput): Promise<string> {
  return (await run(client as ToolClient, input)).text
}
