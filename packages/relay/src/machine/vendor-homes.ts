// The directories where this user's CLIs record the sessions that people start, if the person lets the daemon look.

import { homedir } from 'node:os'
import { join } from 'node:path'
import { type Env, setting } from '@agent-relay/sdk/internal/discover'

/** The variable that moves the directory of each CLI, and its usual name in the home. */
const homes = { claude: ['CLAUDE_CONFIG_DIR', '.claude'], codex: ['CODEX_HOME', '.codex'] } as const
export type VendorHomes = Partial<Record<keyof typeof homes, string>>

/** Returns no directory if the setting is off, and none on systems where this has not been tried. */
export function vendorHomes(env: Env): VendorHomes {
  if (setting(env, 'RELAY_WATCH_SESSIONS') === 'off' || process.platform !== 'linux') return {}
  const home = setting(env, 'HOME') ?? homedir()
  const found = Object.entries(homes).map(([cli, [moved, usual]]) => [cli, setting(env, moved) ?? join(home, usual)])
  return Object.fromEntries(found)
}
