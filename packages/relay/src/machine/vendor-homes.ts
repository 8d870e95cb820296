// The directories where Claude Code and Codex of this user keep records of the sessions that people start, if the person lets us look; and whether our
// agents may stand in Claude Code's list.

import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { type Env, setting } from '@agent-relay/sdk/internal/discover'

/** Sessions are not looked at if the setting is off, and on systems where nobody has tried it. */
export const mayWatchSessions = (env: Env): boolean =>
  setting(env, 'RELAY_WATCH_SESSIONS') !== 'off' && process.platform === 'linux'

const homeOf = (env: Env) => setting(env, 'HOME') ?? homedir()

/** The directory of Claude Code's registry of sessions and their transcripts. */
export function claudeHome(env: Env): string | undefined {
  return mayWatchSessions(env) ? (setting(env, 'CLAUDE_CONFIG_DIR') ?? join(homeOf(env), '.claude')) : undefined
}

/** The directory with the socket of Codex's background server. */
export function codexHome(env: Env): string | undefined {
  return mayWatchSessions(env) ? (setting(env, 'CODEX_HOME') ?? join(homeOf(env), '.codex')) : undefined
}

const listFile = 'claude-list'

/** Whether the person has agreed that our agents stand in Claude Code's own list. */
export function mayListInClaude(dataDir: string): boolean {
  return existsSync(join(dataDir, listFile))
}

/** Stores the person's choice; a running daemon follows it within seconds. */
export function letListInClaude(dataDir: string, may: boolean): void {
  if (may) writeFileSync(join(dataDir, listFile), '', { mode: 0o600 })
  else rmSync(join(dataDir, listFile), { force: true })
}
