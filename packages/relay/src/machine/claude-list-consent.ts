// Whether the person has agreed that our agents stand in Claude Code's own list.

import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const listFile = 'claude-list'

export function mayListInClaude(dataDir: string): boolean {
  return existsSync(join(dataDir, listFile))
}

/** Stores the person's choice; a running daemon follows it within seconds. */
export function letListInClaude(dataDir: string, may: boolean): void {
  if (may) writeFileSync(join(dataDir, listFile), '', { mode: 0o600 })
  else rmSync(join(dataDir, listFile), { force: true })
}
