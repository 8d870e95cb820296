// `@agent-relay/mcp/install`: adds the server to editors and CLIs and takes it out again, with a word about each. Command lines are read elsewhere.

import { type Env, setting } from '@agent-relay/sdk/discover'
import { Untouched } from '../careful/index.ts'
import type { Editor, Server, Surroundings } from './editor.ts'
import { detected, editors } from './editors/index.ts'
import { install, isInstalled, meant, type Outcome, uninstall, type Wish } from './install.ts'
import { afterInstall, noneDetected, outcomeLines, type Say, unknownEditor } from './report.ts'
import { serverCommand, surroundingsOf } from './surroundings.ts'
import { workspaceOf } from './workspace-key.ts'

export type { Editor, Server, Surroundings } from './editor.ts'
export { detected, editors, programPath } from './editors/index.ts'
export { hookEditors } from './hooks.ts'
export { entryName, type Outcome } from './install.ts'
export { configureLift, unconfigureLift } from './lift.ts'
export { outcomeLines } from './report.ts'
export { installed, serverCommand, surroundingsOf } from './surroundings.ts'

export interface InstallOptions {
  /** Names separated by commas, `auto` (those that are found) or `all`; without it `auto`. */
  editor?: string
  /** The user's own files, which is what happens anyway. */
  global?: boolean
  /** The files of the project in `cwd` instead. */
  project?: boolean
  /** The key of a workspace: the entry is bound to that workspace. */
  workspace?: string
  hooks?: boolean
  dryRun?: boolean
  json?: boolean
  /** Nothing is ever asked; taken for those who always say it. */
  yes?: boolean
  env?: Env
  cwd?: string
  say?: Say
  /** How the person calls what runs this, for what is advised; without it through npx. */
  command?: string
}

export interface InstallReport {
  server?: Server
  /** Why nothing was tried. */
  why?: string
  editors: Outcome[]
  unknown: string[]
  /** 0; 1 where something failed; 78 where a file could not be read as what it should be. */
  exit: number
}

/** Also sets the exit code of the process where something failed, so that a one-liner ends as it should. */
export async function runInstall(options: InstallOptions = {}): Promise<InstallReport> {
  const { around, wish, names, say } = prepare(options)
  const { known, unknown } = meant(names, around)
  const isNone = known.length === 0 && unknown.length === 0
  const talk = options.json ? () => {} : say
  const { command = 'npx @agent-relay/mcp' } = options
  if (isNone) noneDetected(talk, command)
  if (isNone) return end({ why: 'No supported editors detected.', editors: [], unknown, exit: 1 }, options, say)
  let server: Server
  try {
    const key = setting({ key: options.workspace }, 'key')
    server = serverCommand(key === undefined ? [] : ['--project', await workspaceOf(key, around.env)])
  } catch (error) {
    if (!(error instanceof Untouched)) throw error
    talk(`${error.message} Nothing was changed.`)
    return end({ why: error.message, editors: [], unknown, exit: 1 }, options, say)
  }
  talk(wish.isDryRun ? 'What would be changed:' : 'Installing Agent Relay MCP server...')
  talk('')
  for (const name of unknown) unknownEditor(talk, name)
  const outcomes = known.flatMap((editor) => tell(install(editor, wish, server, around), wish, true, talk))
  if (!wish.isDryRun) afterInstall(talk, outcomes, command, wish.isProject)
  return end({ server, editors: outcomes, unknown, exit: exitOf(outcomes, unknown) }, options, say)
}

/** Without names: wherever something of ours stands. */
export async function runUninstall(options: InstallOptions = {}): Promise<InstallReport> {
  const { around, wish, names, say } = prepare(options)
  const { known, unknown } = meant(names, around, () =>
    editors.filter((editor) => isInstalled(editor, wish.isProject, around)),
  )
  const talk = options.json ? () => {} : say
  for (const name of unknown) unknownEditor(talk, name)
  // What was put last goes first: directories that several editors share are empty when the first comes.
  const outcomes = known.toReversed().flatMap((editor) => {
    const all = uninstall(editor, wish, around)
    const told = all.filter(
      ({ status, what }) => status !== 'unchanged' || (what === 'server' && !names.includes('auto')),
    )
    return tell(told, wish, false, talk)
  })
  if (outcomes.length === 0 && unknown.length === 0) talk('Nothing of Agent Relay was found in your editors.')
  return end({ editors: outcomes, unknown, exit: exitOf(outcomes, unknown) }, options, say)
}

interface Prepared {
  around: Surroundings
  wish: Wish
  names: string[]
  say: Say
}

function prepare(options: InstallOptions): Prepared {
  if (options.global && options.project) throw new TypeError('Either --global or --project, not both')
  const names = (options.editor ?? 'auto').split(',').map((name) => name.trim())
  return {
    around: surroundingsOf(options.env ?? process.env, options.cwd),
    wish: {
      editors: names,
      isProject: options.project === true,
      isDryRun: options.dryRun === true,
      withHooks: options.hooks === true,
    },
    names: names.filter((name) => name !== ''),
    say: options.say ?? ((text) => process.stdout.write(`${text}\n`)),
  }
}

function tell(outcomes: Outcome[], { isDryRun }: Wish, isInstall: boolean, talk: Say): Outcome[] {
  for (const outcome of outcomes) {
    if (isDryRun && outcome.diff) talk(outcome.diff)
    else for (const line of outcomeLines(outcome, isInstall)) talk(line)
  }
  return outcomes
}

function exitOf(outcomes: Outcome[], unknown: string[]): number {
  return Math.max(unknown.length > 0 ? 1 : 0, ...outcomes.map(({ exit }) => exit), 0)
}

function end(report: InstallReport, { json }: InstallOptions, say: Say): InstallReport {
  if (json) say(JSON.stringify(report))
  if (report.exit !== 0) process.exitCode = report.exit
  return report
}

/** Which editors have our entry, for those who look after them. */
export function installedEditors(
  env: Env,
  cwd?: string,
): { editor: Editor; isDetected: boolean; isInstalled: boolean }[] {
  const around = surroundingsOf(env, cwd)
  const here = detected(around)
  return editors.map((editor) => ({
    editor,
    isDetected: here.includes(editor),
    isInstalled: isInstalled(editor, false, around),
  }))
}
