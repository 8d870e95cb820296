// Where Claude Code of this user keeps its registry of sessions and their transcripts, if the person lets us look; and whether our agents may stand there.

import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { type Env, setting } from '@agent-relay/sdk/internal/discover'

/** Undefined where it was switched off, and where nobody has tried it. */
export function claudeHome(env: Env): string | undefined {
  if (setting(env, 'RELAY_CLAUDE_SESSIONS') === 'off' || process.platform !== 'linux') return undefined
  return setting(env, 'CLAUDE_CONFIG_DIR') ?? join(setting(env, 'HOME') ?? homedir(), '.claude')
}

const listFile = 'claude-list'

/** Whether the person has agreed that our agents stand in Claude Code's own list. */
export function mayListInClaude(dataDir: string): boolean {
  return existsSync(join(dataDir, listFile))
}

/** A daemon that runs acts on it within seconds. */
export function letListInClaude(dataDir: string, may: boolean): void {
  if (may) writeFileSync(join(dataDir, listFile), '', { mode: 0o600 })
  else rmSync(join(dataDir, listFile), { force: true })
}
