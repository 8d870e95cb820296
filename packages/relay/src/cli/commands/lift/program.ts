// Finds the program for the roles of a lift from the option `--cli`: a CLI that has a harness, or any other program.

import { join } from 'node:path'
import type { Env } from '@agent-relay/sdk/internal/discover'
import { RefusalError } from '../../../core/refusal-error.ts'
import type { Harness, LaunchContext } from '../../../supervisor/harness/harness.ts'
import { harnesses, harnessOf } from '../../../supervisor/harness/index.ts'
import { plainHarness } from '../../../supervisor/harness/plain.ts'
import { mcpCommand, programFileOf, workerMarker } from '../../../supervisor/launching.ts'
import { CommandError, exitCodes } from '../../command.ts'
import type { PaneOrder } from './pane.ts'

export interface RoleProgram {
  harness: Harness
  /** The program's absolute path. */
  path: string
}

/** Whether a CLI can take a role: it must have a terminal to type into, and MCP servers to get the lift's tools. */
const servesRole = ({ hasMcp, isAcpOnly }: Harness) => hasMcp && !isAcpOnly

export function findRoleProgram(cli: string, cwd: string, env: Env): RoleProgram {
  const harness = cli.includes('/') ? plainHarness : (harnessOf(cli) ?? plainHarness)
  if (harness.program !== undefined && !servesRole(harness)) {
    const lack = harness.hasMcp ? 'is not typed into' : 'gets no MCP servers'
    const why = 'a role is given its kickoff in its terminal, and needs the tools of the lift'
    throw new CommandError(`${cli} ${lack} here: ${why}.`, exitCodes.usage)
  }
  const path = programFileOf(harness, harness.program === undefined ? [cli] : [], env, cwd)
  if (path !== undefined) return { harness, path }
  if (cli.includes('/')) throw new CommandError(`${cli} is not a program that can be run.`, exitCodes.refused)
  const { program = cli, install } = harness
  if (install) throw new RefusalError('cli.not-installed', { program, install })
  const names = harnesses.filter(servesRole).map(({ name }) => name)
  throw new CommandError(
    `${cli} is not on PATH. --cli takes ${names.join(', ')} or the path of a program.`,
    exitCodes.refused,
  )
}

export interface RoleLaunch {
  role: string
  url: string
  cwd: string
  env: Env
  /** A directory for this role alone. */
  directory: string
  /** A marker in the environment of all processes of the role, by which they are found at the lift's end. */
  marker: string
}

/** Returns what the role's pane should run: the CLI starts as a worker would, but with the lift's relay and the user's own environment. */
export function paneOrderFor(
  { harness, path }: RoleProgram,
  { role, url, cwd, env, directory, marker }: RoleLaunch,
): StagedPane {
  const identity = {
    [workerMarker]: marker,
    RELAY_BASE_URL: url,
    RELAY_AGENT_NAME: role,
    RELAY_AGENT_TYPE: 'agent',
    RELAY_STRICT_AGENT_NAME: '1',
  }
  const context: LaunchContext = {
    ...{ directory, server: mcpCommand('serve'), hook: mcpCommand('hook'), identity },
    ...{ args: [], cwd, env, isInjected: harness.hasMcp },
  }
  const launch = harness.launch(context)
  return {
    order: {
      role,
      program: path,
      args: launch.args,
      cwd,
      env: { ...withoutRelay(env), ...identity, ...launch.env },
      pidPath: join(directory, 'pid'),
    },
    files: launch.files ?? [],
    before: launch.setupRuns ?? [],
  }
}

export interface StagedPane {
  order: PaneOrder
  /** Files to write before the start, readable only by their owner. */
  files: { path: string; text: string }[]
  /** Arguments for runs of the CLI that prepare it, made once before the first role starts. */
  before: { args: string[] }[]
}

/** Returns the environment without the variables of the user's own relay, such as its key and workspace. */
function withoutRelay(env: Env): Record<string, string> {
  const kept = Object.entries(env).filter(([name, value]) => !name.startsWith('RELAY_') && value !== undefined)
  return Object.fromEntries(kept) as Record<string, string>
}
