// Where Claude Code and Codex of this user keep what they show of the sessions that people start, if the person lets us look; and whether our agents may
// stand in Claude Code's list.

import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { type Env, setting } from '@agent-relay/sdk/internal/discover'

/** Where it was switched off, and where nobody has tried it, sessions are not looked at. */
export const mayWatchSessions = (env: Env): boolean =>
  setting(env, 'RELAY_WATCH_SESSIONS') !== 'off' && process.platform === 'linux'

const homeOf = (env: Env) => setting(env, 'HOME') ?? homedir()

/** Its registry of sessions and their transcripts. */
export function claudeHome(env: Env): string | undefined {
  return mayWatchSessions(env) ? (setting(env, 'CLAUDE_CONFIG_DIR') ?? join(homeOf(env), '.claude')) : undefined
}

/** The socket of its background server. */
export function codexHome(env: Env): string | undefined {
  return mayWatchSessions(env) ? (setting(env, 'CODEX_HOME') ?? join(homeOf(env), '.codex')) : undefined
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
