// The harnesses by the name that `--cli` takes.

import { claude } from './claude.ts'
import { codex } from './codex.ts'
import { droid } from './droid.ts'
import { gemini } from './gemini.ts'
import type { Harness } from './harness.ts'
import { opencode } from './opencode.ts'
import { aider, goose, plain } from './plain.ts'

export const harnesses: readonly Harness[] = [claude, codex, opencode, gemini, droid, goose, aider, plain]

export function harnessOf(cli: string): Harness | undefined {
  return harnesses.find(({ name }) => name === cli)
}
