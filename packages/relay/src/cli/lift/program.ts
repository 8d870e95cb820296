// Which program the roles run, from what `--cli` says: a CLI that has a harness, or any command of the user's.

import { join } from 'node:path'
import type { Env } from '@agent-relay/sdk/discover'
import { RefusalError } from '../../refusal-error.ts'
import { workerMarker } from '../../supervisor/environment.ts'
import type { Harness, LaunchContext } from '../../supervisor/harness/harness.ts'
import { harnesses, harnessOf } from '../../supervisor/harness/index.ts'
import { plain } from '../../supervisor/harness/plain.ts'
import { mcpProgram, programOf } from '../../supervisor/launching.ts'
import { CommandError, exits } from '../command.ts'
import type { PaneOrder } from './pane.ts'

export interface Program {
  harness: Harness
  /** Absolute. */
  path: string
}

export function findProgram(cli: string, cwd: string, env: Env): Program {
  const harness = cli.includes('/') ? plain : (harnessOf(cli) ?? plain)
  if (harness.program !== undefined && !harness.hasMcp)
    throw new CommandError(
      `${cli} gets no MCP servers here, and without the lift's tools it has no part in it.`,
      exits.usage,
    )
  const path = programOf(harness, harness.program === undefined ? [cli] : [], env, cwd)
  if (path !== undefined) return { harness, path }
  if (cli.includes('/')) throw new CommandError(`${cli} is no program that could be run.`, exits.refused)
  const { program = cli, install } = harness
  if (install) throw new RefusalError('cli.not-installed', { program, install })
  const names = harnesses.filter(({ hasMcp }) => hasMcp).map(({ name }) => name)
  throw new CommandError(
    `${cli} is not on PATH. --cli takes ${names.join(', ')} or the path of a program.`,
    exits.refused,
  )
}

export interface Cast {
  role: string
  url: string
  cwd: string
  env: Env
  /** Private to this role. */
  directory: string
  /** What everything that the role starts carries in its environment, so that it can be found at the end. */
  marker: string
}

/** What the pane of a role runs: the CLI as a worker would get it, but at the lift's relay and with the user's own environment. */
export function orderOf({ harness, path }: Program, { role, url, cwd, env, directory, marker }: Cast): Staged {
  const identity = {
    [workerMarker]: marker,
    RELAY_BASE_URL: url,
    RELAY_AGENT_NAME: role,
    RELAY_AGENT_TYPE: 'agent',
    RELAY_STRICT_AGENT_NAME: '1',
  }
  const context: LaunchContext = {
    ...{ directory, server: mcpProgram('serve'), hook: mcpProgram('hook'), identity },
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
    before: launch.before ?? [],
  }
}

export interface Staged {
  order: PaneOrder
  /** To be written, for the owner alone. */
  files: { path: string; text: string }[]
  /** Runs of the program itself, once for all roles. */
  before: { args: string[] }[]
}

/** The user's own relay must not shine through: not its key, its workspace nor its toolsets. */
function withoutRelay(env: Env): Record<string, string> {
  const kept = Object.entries(env).filter(([name, value]) => !name.startsWith('RELAY_') && value !== undefined)
  return Object.fromEntries(kept) as Record<string, string>
}
