// `@agent-relay/mcp/install`: adds the server to editors and CLIs and takes it out again, with a line about each. It is also the command line of
// `agent-relay-mcp install`.

import { parseArgs } from 'node:util'
import { cleanForModel } from '@agent-relay/sdk/internal/clean'
import { type Env, setting } from '@agent-relay/sdk/internal/discover'
import { withOwnName } from '@agent-relay/sdk/internal/own-command'
import { DryRunPlan, FileUntouchedError } from '../careful/index.ts'
import {
  launcherCommand,
  launcherScript,
  refreshLauncher,
  relayCommand,
  type ServerCommand,
} from '../launcher/index.ts'
import { shellWord } from './command-hooks.ts'
import { type Editor, editors } from './editors.ts'
import { type Confirm, canAskOnTerminal, confirmOnTerminal, foreignCommand, leftAloneOutcome } from './foreign.ts'
import { hooksQuestion, silentHookEditors } from './hooks.ts'
import {
  chooseEditors,
  editorFile,
  type FileOutcome,
  hasOwnEntries,
  type InstallRequest,
  installEditor,
  uninstallEditor,
} from './install.ts'
import { type InstallContext, installContext } from './paths.ts'
import {
  outcomeLines,
  type PrintLine,
  replacedEntryLines,
  reportNextSteps,
  reportNoneDetected,
  reportUnknownEditor,
} from './report.ts'
import { readServeArguments, type ServeArguments, workspaceBinding } from './workspace-key.ts'

export type { InstalledHook } from './editor-rule.ts'
export { detectEditors, type Editor, editors, programPath } from './editors.ts'
export { entryCommand, foreignCommand } from './foreign.ts'
export { editorHooks, hooksQuestion, silentHookEditors } from './hooks.ts'
export type { FileOutcome } from './install.ts'
export { addLiftEntries, removeLiftEntries } from './lift.ts'
export { type InstallContext, installContext } from './paths.ts'
export { outcomeLines } from './report.ts'

export interface InstallOptions {
  /** Names separated by commas, `auto` (the editors that are found) or `all`. Default: `auto`. */
  editor?: string
  /** Writes the user's settings files. This is the default. */
  global?: boolean
  /** Writes the settings files of the project in `cwd` instead. */
  project?: boolean
  /** The key of a workspace: the entry is bound to that workspace. */
  workspace?: string
  /** Whether the entry starts a daemon if none is running. A later installation keeps this and the workspace. */
  start?: boolean
  /**
   * Adds the hooks of every CLI that has some (true), of none (false), or those that do not bother the user (`free`, see hooks.ts). If unset: `free`
   * after a question; none in a project, and none if nobody can be asked.
   */
  hooks?: boolean | 'free'
  dryRun?: boolean
  json?: boolean
  /** Asks nothing: adds hooks, and replaces or takes out an entry of our name that starts another program. */
  yes?: boolean
  /** Asks a question. The default asks on the terminal. Without a terminal, and with `json`, nobody is asked. */
  confirm?: Confirm
  env?: Env
  cwd?: string
  say?: PrintLine
  /** The command that printed advice names. Default: the path of this package's own script. */
  command?: string
}

export interface InstallReport {
  server?: ServerCommand
  /** Why the installation did not start; unset if it did. */
  why?: string
  editors: FileOutcome[]
  unknown: string[]
  /** The exit code. 0: done; 1: something failed; 2: an option makes no sense; 78: a file has the wrong form. */
  exit: number
}

const usageExit = 2

/** Adds the server and hooks to the chosen editors. Does not set the exit code of the process: the report has it. */
export async function runInstall(options: InstallOptions = {}): Promise<InstallReport> {
  const { context, request, names, say } = prepare(options)
  const { known, unknown } = chooseEditors(names, context)
  const isNone = known.length === 0 && unknown.length === 0
  const talk: PrintLine = options.json ? () => {} : (text) => say(cleanForModel(text))
  const { command = shellWord(launcherScript) } = options
  if (isNone) reportNoneDetected(talk, command)
  if (isNone) return endReport({ why: 'No supported editors detected.', editors: [], unknown, exit: 1 }, options, say)
  const refuse = (why: string, exit: number) => {
    talk(`${why} Nothing was changed.`)
    return endReport({ why, editors: [], unknown, exit }, options, say)
  }
  const key = setting({ key: options.workspace }, 'key')
  // Refuses an empty key: it comes from a variable that is not set.
  if (key === undefined && options.workspace !== undefined)
    return refuse('Which workspace? Give its key: --workspace KEY.', usageExit)
  let binding: string[]
  try {
    binding = key === undefined ? [] : await workspaceBinding(key, context.env)
    if (!request.plan) writeLauncher(context)
  } catch (error) {
    if (!(error instanceof FileUntouchedError)) throw error
    return refuse(error.message, 1)
  }
  talk(request.plan ? 'What would be changed:' : 'Installing Agent Relay MCP server...')
  talk('')
  for (const name of unknown) reportUnknownEditor(talk, name)
  request.hooks = await hooksAfterAsking(known, request, options)
  const outcomes: FileOutcome[] = []
  for (const editor of known) {
    const done = await installOne(editor, { request, binding, context, options, command })
    outcomes.push(...reportOutcomes(done, request, true, talk))
  }
  if (!request.plan) {
    const startsDaemon = known.every((editor) => readServeArguments(editor, request.isProject, context).startsDaemon)
    const editorsWithoutHooks = request.hooks === 'kept' ? withoutHooks(known, outcomes) : []
    reportNextSteps(talk, outcomes, { command, isProject: request.isProject, startsDaemon, editorsWithoutHooks })
  }
  const server = serverCommand({ startsDaemon: options.start === true, binding }, context.env)
  return endReport({ server, editors: outcomes, unknown, exit: exitCodeOf(outcomes, unknown) }, options, say)
}

function serverCommand({ startsDaemon, binding }: ServeArguments, env: Env): ServerCommand {
  return launcherCommand(['serve', ...(startsDaemon ? ['--start'] : []), ...binding], env)
}

interface InstallJob {
  request: InstallRequest
  binding: string[]
  context: InstallContext
  options: InstallOptions
  command: string
}

/**
 * Decides which hooks to add, by asking the user. If nobody can be asked, none are added; a dry run asks nothing, and shows the hooks that a yes
 * would add.
 */
async function hooksAfterAsking(
  known: Editor[],
  request: InstallRequest,
  options: InstallOptions,
): Promise<InstallRequest['hooks']> {
  const { hooks, yes, json, confirm = confirmOnTerminal } = options
  const free = known.filter(({ name }) => silentHookEditors.includes(name))
  if (hooks !== undefined || request.hooks !== 'free' || yes || free.length === 0) return request.hooks
  const canAsk = !json && (options.confirm !== undefined || canAskOnTerminal())
  if (!canAsk) return 'kept'
  return request.plan || (await confirm(hooksQuestion(free), true)) ? 'free' : 'none'
}

/** Titles of the editors that got no hooks, although their hooks would not bother the user. */
function withoutHooks(known: Editor[], outcomes: FileOutcome[]): string[] {
  const isHooked = ({ name }: Editor) => outcomes.some(({ editor, what }) => editor === name && what === 'hooks')
  return known
    .filter((editor) => silentHookEditors.includes(editor.name) && !isHooked(editor))
    .map(({ title }) => title)
}

/** Installs for one editor. Asks before another program's entry of our name is replaced. */
async function installOne(editor: Editor, installing: InstallJob): Promise<FileOutcome[]> {
  const { request, context, options, command } = installing
  const before = readServeArguments(editor, request.isProject, context)
  const binding = options.workspace === undefined ? before.binding : installing.binding
  const server = serverCommand({ startsDaemon: options.start ?? before.startsDaemon, binding }, context.env)
  const foreign = foreignCommand(editor, request.isProject, context)
  if (foreign === undefined) return installEditor(editor, request, server, context)
  const file = editorFile(editor, request, context) as string
  const { yes, json, confirm = json ? async () => false : confirmOnTerminal } = options
  const question = `${editor.title}: ${file} has an entry of this name that starts another program:\n  ${foreign}\nReplace it?`
  const scope = request.isProject ? ' --project' : ''
  if (!request.plan && !yes && !(await confirm(question)))
    return [leftAloneOutcome(editor, file, foreign, `${command} install${scope} --editor ${editor.name} --yes`)]
  const [first, ...hooks] = installEditor(editor, request, server, context)
  return [{ ...(first as FileOutcome), foreign }, ...hooks]
}

/** Writes the launcher, which must exist before the first entry names it. */
function writeLauncher({ env }: InstallContext): void {
  try {
    refreshLauncher(env)
  } catch (error) {
    throw new FileUntouchedError(`The launcher could not be written: ${(error as Error).message}.`)
  }
}

/** Without names, uninstalls from every editor that has an entry or hook of ours. */
export async function runUninstall(options: InstallOptions = {}): Promise<InstallReport> {
  const { context, request, names, say } = prepare(options)
  const { known, unknown } = chooseEditors(names, context, () =>
    editors.filter((editor) => hasOwnEntries(editor, request.isProject, context)),
  )
  const talk: PrintLine = options.json ? () => {} : (text) => say(cleanForModel(text))
  for (const name of unknown) reportUnknownEditor(talk, name)
  // In reverse order, so that a directory that several editors share is empty when the editor for which it was created has its turn.
  const outcomes = known.toReversed().flatMap((editor) => {
    const foreign = options.yes ? undefined : foreignCommand(editor, request.isProject, context)
    const all = uninstallEditor(editor, request, context, foreign)
    const told = all.filter(
      ({ status, what, foreign }) =>
        status !== 'unchanged' || foreign !== undefined || (what === 'server' && !names.includes('auto')),
    )
    return reportOutcomes(told, request, false, talk)
  })
  if (outcomes.length === 0 && unknown.length === 0) talk('Nothing of Agent Relay was found in your editors.')
  return endReport({ editors: outcomes, unknown, exit: exitCodeOf(outcomes, unknown) }, options, say)
}

interface Prepared {
  context: InstallContext
  request: InstallRequest
  names: string[]
  say: PrintLine
}

function prepare(options: InstallOptions): Prepared {
  if (options.global && options.project) throw new TypeError('Either --global or --project, not both')
  const names = (options.editor ?? 'auto').split(',').map((name) => name.trim())
  return {
    context: installContext(options.env ?? process.env, options.cwd),
    request: {
      editors: names,
      isProject: options.project === true,
      plan: options.dryRun === true ? new DryRunPlan() : undefined,
      hooks: requestedHooks(options),
    },
    names: names.filter((name) => name !== ''),
    say: options.say ?? ((text) => process.stdout.write(`${text}\n`)),
  }
}

function requestedHooks({ hooks, project }: InstallOptions): InstallRequest['hooks'] {
  if (hooks === undefined) return project ? 'none' : 'free'
  return hooks === true ? 'all' : hooks || 'none'
}

/** Prints the outcome for each file. A dry run prints one diff for each file, since the server's entry and the hooks may be in the same file. */
function reportOutcomes(
  outcomes: FileOutcome[],
  { plan }: InstallRequest,
  isInstall: boolean,
  talk: PrintLine,
): FileOutcome[] {
  return outcomes.map((outcome) => {
    const diff = plan && outcome.file !== undefined ? plan.takeDiff(outcome.file) : ''
    const isInOther = plan !== undefined && diff === '' && outcome.exit === 0 && outcome.status !== 'unchanged'
    const lines =
      diff !== '' ? [diff, ...replacedEntryLines(outcome)] : isInOther ? [] : outcomeLines(outcome, isInstall)
    for (const line of lines) talk(line)
    return diff === '' ? outcome : { ...outcome, diff }
  })
}

function exitCodeOf(outcomes: FileOutcome[], unknown: string[]): number {
  return Math.max(unknown.length > 0 ? 1 : 0, ...outcomes.map(({ exit }) => exit), 0)
}

function endReport(report: InstallReport, { json }: InstallOptions, say: PrintLine): InstallReport {
  if (json) say(JSON.stringify(report))
  return report
}

const commandLine = {
  editor: { type: 'string', short: 'e', multiple: true },
  global: { type: 'boolean', short: 'g' },
  project: { type: 'boolean' },
  workspace: { type: 'string' },
  start: { type: 'boolean' },
  hooks: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  yes: { type: 'boolean', short: 'y' },
  json: { type: 'boolean' },
} as const

/** `agent-relay-mcp install` and `uninstall`, which load this file on demand. */
export async function main(command: 'install' | 'uninstall', args: string[]): Promise<void> {
  try {
    const { values } = parseArgs({ args, options: commandLine, allowNegative: true })
    const { editor, 'dry-run': dryRun, ...rest } = values
    const run = command === 'install' ? runInstall : runUninstall
    const say: PrintLine = (text) =>
      void process.stdout.write(`${rest.json ? text : withOwnName(text, relayCommand())}\n`)
    const { exit } = await run({ ...rest, dryRun, editor: editor?.join(','), say })
    if (exit !== 0) process.exitCode = exit
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    process.stderr.write(`${error.message}\nRun with --help for usage\n`)
    process.exitCode = 1
  }
}
