// Checks a request to start a worker before anything is written, and chooses how the worker's program would be started: harness, control (terminal or
// ACP), command and arguments.

import { basename } from 'node:path'
import type { CheckedWorker, WorkerRequest } from '../broker/workers/worker-runtime.ts'
import { RefusalError } from '../core/refusal-error.ts'
import { type ProjectConfigFile, projectConfig } from '../machine/trust.ts'
import type { Harness } from './harness/harness.ts'
import { programFileOf } from './launching.ts'

export interface StartCheckOptions {
  harnesses: readonly Harness[]
  env: Readonly<Record<string, string | undefined>>
  dataDir: string
  /** Whether the daemon serves HTTP. */
  hasHttp: boolean
}

export function checkWorkerStart(request: WorkerRequest, options: StartCheckOptions): CheckedWorker {
  const { args: given = [], cwd, model } = request
  const { env, dataDir, hasHttp } = options
  const config = projectConfig(cwd, dataDir)
  const { harness, cli, command, control } = chooseHarness(request, config, options)
  const program = command[0] ?? harness.program
  if (program === undefined) throw invalidSpawn(`${cli} needs a command to run`)
  if (programFileOf(harness, command, env, cwd) === undefined)
    throw new RefusalError('cli.not-installed', { program, install: harness.install })
  const added = config?.settings.harness?.[cli]?.args ?? []
  const args = [...(config?.isTrusted ? added : []), ...given]
  const bringsOwn = harness.hasMcp && harness.bringsOwnMcp(args)
  const isReachable = control === 'pty' || harness.acp?.mcp !== 'http' || hasHttp
  const notes = [
    added.length > 0 && !config?.isTrusted && `${config?.path} adds arguments, but is not trusted: agent-relay trust`,
    bringsOwn &&
      'The arguments name MCP servers of their own, so the relay was not added: the worker has no tools of the relay.',
    !isReachable &&
      `${cli} takes MCP servers over HTTP alone, and this daemon has no HTTP port: the worker has no tools of the relay.`,
    control === 'acp' &&
      command.length > 0 &&
      model !== undefined &&
      'A model cannot be chosen over ACP: name the model in the command.',
  ]
  const note = notes.filter((each) => each !== false).join(' ') || undefined
  const isInjected = harness.hasMcp && !bringsOwn && isReachable
  return { cli, command: command.length > 0 ? command : undefined, control, cwd, args, isInjected, note }
}

interface ChosenHarness {
  harness: Harness
  cli: string
  command: string[]
  control: 'acp' | 'pty'
}

/**
 * Chooses the harness and the control. The command of a program that speaks ACP comes from the request, or from a project configuration that the user
 * trusts.
 */
function chooseHarness(
  { cli, command = [], control }: WorkerRequest,
  config: ProjectConfigFile | undefined,
  { harnesses }: StartCheckOptions,
): ChosenHarness {
  const named = harnesses.find(({ name }) => name === cli)
  const set = control === 'pty' || command.length > 0 ? undefined : config?.settings.harness?.[cli]?.acp
  if (set && config?.isTrusted)
    return { harness: named?.acp ? named : acpHarnessOf(harnesses, set), cli, command: set, control: 'acp' }
  if (!named && set)
    throw invalidSpawn(`${config?.path} says how ${cli} is started, but is not trusted: agent-relay trust`)
  if (!named) throw new RefusalError('cli.unknown', { cli, clis: harnesses.map(({ name }) => name) })
  if (control === 'pty' && named.isAcpOnly)
    throw invalidSpawn(`the relay speaks with ${cli} over ACP alone, and not in a terminal`)
  const isAcp = control === 'acp' || named.isAcpOnly || (named.acp !== undefined && command.length === 0)
  if (!isAcp || control === 'pty') return { harness: named, cli, command, control: 'pty' }
  if (!named.acp && command.length === 0) throw invalidSpawn(`${cli} needs a command that speaks ACP`)
  if (cli !== 'acp')
    return { harness: named.acp ? named : acpHarnessOf(harnesses, command), cli, command, control: 'acp' }
  const harness = acpHarnessOf(harnesses, command)
  return { harness, cli: harness.name, command, control: 'acp' }
}

/** Returns the harness of a program that speaks ACP: that of the CLI with this program name, such as Copilot's, otherwise the general harness `acp`. */
function acpHarnessOf(harnesses: readonly Harness[], [program = '']: readonly string[]): Harness {
  const speaking = harnesses.filter(({ acp }) => acp !== undefined)
  const known = speaking.find((harness) => harness.program === basename(program))
  const any = speaking.find(({ name }) => name === 'acp')
  if (!known && !any) throw new RefusalError('cli.unknown', { cli: 'acp', clis: harnesses.map(({ name }) => name) })
  return (known ?? any) as Harness
}

function invalidSpawn(why: string): RefusalError {
  return new RefusalError('input.invalid', { operation: 'worker.spawn', why })
}
