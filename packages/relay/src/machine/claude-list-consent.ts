// The person's consent to list our agents in Claude Code's own list, stored as a file in the data directory.

import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const consentFile = 'claude-list'

export function hasClaudeListConsent(dataDir: string): boolean {
  return existsSync(join(dataDir, consentFile))
}

/** Stores the person's choice; a running daemon follows it within seconds. */
export function setClaudeListConsent(dataDir: string, may: boolean): void {
  if (may) writeFileSync(join(dataDir, consentFile), '', { mode: 0o600 })
  else rmSync(join(dataDir, consentFile), { force: true })
}
