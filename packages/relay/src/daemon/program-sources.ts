// Makes the program sources, one for each vendor: each finds that vendor's programs when a person starts them by hand. user-programs.ts makes agents of the
// programs.

import type { Env } from '@agent-relay/sdk/internal/discover'
import { hasClaudeListConsent } from '../machine/claude-list-consent.ts'
import type { DataDirectory } from '../machine/data-directory.ts'
import type { VendorHomes } from '../machine/vendor-homes.ts'
import { CodexThreads } from '../supervisor/codex/threads.ts'
import { codexHarness } from '../supervisor/harness/codex.ts'
import { cliCommandOf } from '../supervisor/launching.ts'
import type { ProgramListener } from '../supervisor/user-program.ts'
import { ClaudeSessions } from './claude-sessions.ts'
import type { OpenWorkspaces } from './open-workspaces.ts'
import type { UserProgramMemory } from './user-program-memory.ts'
import type { UserProgramsOptions } from './user-programs.ts'

interface SourceParts {
  homes?: VendorHomes
  env: Env
  memory: UserProgramMemory
  workspaces: OpenWorkspaces
  directory: DataDirectory
}

export function programSources(parts: SourceParts): UserProgramsOptions['sources'] {
  const { homes: { claude, codex: codexHome } = {}, env, memory, workspaces, directory } = parts
  const { hooks, path } = directory
  const mayList = () => hasClaudeListConsent(path)
  return [
    ...(claude === undefined
      ? []
      : [
          (listener: ProgramListener) =>
            new ClaudeSessions({ home: claude, memory, hooks, mayList, workspaces }, listener),
        ]),
    // Without Codex's home directory, only threads of sessions that have our MCP server are found.
    (listener: ProgramListener) =>
      new CodexThreads({ home: codexHome, command: () => cliCommandOf(codexHarness, env) }, listener),
  ]
}
