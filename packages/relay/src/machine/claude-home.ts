// Where Claude Code of this user keeps its registry of sessions and their transcripts, if the person lets us look.

import { homedir } from 'node:os'
import { join } from 'node:path'
import { type Env, setting } from '@agent-relay/sdk/internal/discover'

/** Undefined where it was switched off, and where nobody has tried it. */
export function claudeHome(env: Env): string | undefined {
  if (setting(env, 'RELAY_CLAUDE_SESSIONS') === 'off' || process.platform !== 'linux') return undefined
  return setting(env, 'CLAUDE_CONFIG_DIR') ?? join(setting(env, 'HOME') ?? homedir(), '.claude')
}
