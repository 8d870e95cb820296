// One run by the built-in loop, as the daemon sees it: its model's settings, its seat in the relay, and the thread that loops.

import type { Env } from '@agent-relay/sdk/discover'
import type { Workspace } from '../broker/workspace.ts'
import type { RunRow } from '../core/view.ts'
import type { ProjectConfigFile } from '../trust.ts'
import type { RunLimits } from './limits.ts'
import type { LoopSeat } from './loop-words.ts'
import type { Loops } from './loops.ts'
import { modelSettings } from './model.ts'
import { ownTools } from './own-tools.ts'
import { type Dial, Seat } from './seat.ts'

export interface LoopRunOptions {
  workspace: Workspace
  run: RunRow
  env: Env
  config: ProjectConfigFile | undefined
  dial: Dial
  loops: Loops
  limits: RunLimits
  over: AbortSignal
}

/** Resolves when it is over; with a reason where it ended by itself. */
export async function runLoop(options: LoopRunOptions): Promise<string | undefined> {
  const { workspace, run, env, config, dial, loops, limits, over } = options
  const { runs, hub } = workspace
  const model = modelSettings(env, run.model, config)
  if (typeof model === 'string') return model
  const token = runs.takeToken(run.id)
  if (token === undefined) return undefined
  const note = (text: string) => runs.note(run.id, text)
  const trusted = config?.isTrusted ? config : undefined
  if (config?.settings.mcpServers !== undefined && !trusted)
    note(`${config.path} names MCP servers, but is not trusted: agent-relay trust\n`)
  const seat = await Seat.take(run.id, token, hub, dial)
  try {
    const tools = await ownTools(() => seat.turn())
    const asked: LoopSeat = {
      takeMail: () => seat.takeMail(),
      received: async () => seat.received(),
      mailCame: (ms) => seat.mailCame(AbortSignal.any([over, AbortSignal.timeout(ms)])),
      complete: (summary) => seat.complete(summary),
      callTool: (name, input) => tools.call(name, input, over),
    }
    const task = {
      run,
      contract: runs.contract(run.id),
      model,
      tools: tools.definitions,
      servers: trusted?.settings.mcpServers ?? {},
      cwd: run.cwd ?? trusted?.directory,
      limits,
    }
    return await loops.run(task, asked, over, note)
  } finally {
    await seat.leave()
  }
}
