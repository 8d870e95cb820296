// The vendors whose programs are found when a person starts them by hand. What becomes of such a program is in user-programs.ts.

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
    // Without Codex's home directory, the threads of sessions with our MCP server are found all the same.
    (listener: ProgramListener) =>
      new CodexThreads({ home: codexHome, command: () => cliCommandOf(codexHarness, env) }, listener),
  ]
}
