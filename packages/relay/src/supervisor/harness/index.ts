// The harnesses by the name that `--cli` takes: one for each CLI that can be a worker, `acp` for any other program that speaks ACP, and `plain` for
// all others.

import { type CliNameWith, clisWith } from '@agent-relay/sdk/internal/clis'
import { acpHarness } from './acp.ts'
import { aiderHarness } from './aider.ts'
import { claudeHarness } from './claude.ts'
import { codexHarness } from './codex.ts'
import { copilotHarness } from './copilot.ts'
import { droidHarness } from './droid.ts'
import { geminiHarness } from './gemini.ts'
import { gooseHarness } from './goose.ts'
import type { Harness } from './harness.ts'
import { opencodeHarness } from './opencode.ts'
import { plainHarness } from './plain.ts'

const byName: Record<CliNameWith<'worker'>, Harness> = {
  claude: claudeHarness,
  codex: codexHarness,
  gemini: geminiHarness,
  droid: droidHarness,
  opencode: opencodeHarness,
  copilot: copilotHarness,
  goose: gooseHarness,
  aider: aiderHarness,
}

export const harnesses: readonly Harness[] = [
  ...clisWith('worker').map(({ name }) => byName[name]),
  plainHarness,
  acpHarness,
]

export function harnessOf(cli: string): Harness | undefined {
  return harnesses.find(({ name }) => name === cli)
}
