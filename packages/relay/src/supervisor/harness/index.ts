// The harnesses by the name that `--cli` takes: one for each worker in the table of CLIs, `plain` for any other program, and `acp` for any other
// that speaks ACP.

import { clisWith, type NameWith } from '@agent-relay/sdk/internal/clis'
import { acp } from './acp.ts'
import { aider } from './aider.ts'
import { claude } from './claude.ts'
import { codex } from './codex.ts'
import { copilot } from './copilot.ts'
import { droid } from './droid.ts'
import { gemini } from './gemini.ts'
import { goose } from './goose.ts'
import type { Harness } from './harness.ts'
import { opencode } from './opencode.ts'
import { plain } from './plain.ts'

const byName: Record<NameWith<'worker'>, Harness> = {
  claude,
  codex,
  gemini,
  droid,
  opencode,
  copilot,
  goose,
  aider,
}

export const harnesses: readonly Harness[] = [...clisWith('worker').map(({ name }) => byName[name]), plain, acp]

export function harnessOf(cli: string): Harness | undefined {
  return harnesses.find(({ name }) => name === cli)
}
