// The directories where this user's CLIs record the sessions that people start, if the person lets the daemon look.

import { homedir } from 'node:os'
import { join } from 'node:path'
import { type Env, setting } from '@agent-relay/sdk/internal/discover'

/** For each CLI, the environment variable that names its directory, and the directory's usual name in the home directory. */
const homes = { claude: ['CLAUDE_CONFIG_DIR', '.claude'], codex: ['CODEX_HOME', '.codex'] } as const
export type VendorHomes = Partial<Record<keyof typeof homes, string>>

/** Returns the directories; none if the setting RELAY_WATCH_SESSIONS is off, or if the system is not Linux, where alone this has been tried. */
export function vendorHomes(env: Env): VendorHomes {
  if (setting(env, 'RELAY_WATCH_SESSIONS') === 'off' || process.platform !== 'linux') return {}
  const home = setting(env, 'HOME') ?? homedir()
  const found = Object.entries(homes).map(([cli, [moved, usual]]) => [cli, setting(env, moved) ?? join(home, usual)])
  return Object.fromEntries(found)
}
