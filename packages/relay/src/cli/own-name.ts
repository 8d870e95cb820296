// The command with which this command line starts itself again, and the one that a person can type: `agent-relay` if that is on their PATH, `./agent-relay`
// in a checkout, otherwise a path. None ever runs another project's program of that name, or asks a registry for one.

import { existsSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { shellQuote } from '@agent-relay/sdk/internal/command-words'
import { type Env, programFolders, readForeignText, workingDirectory } from '@agent-relay/sdk/internal/discover'
import { ownCommand, withOwnName } from '@agent-relay/sdk/internal/own-command'

/** The file that starts this command line: absolute, since another terminal may have another PATH. */
export const launcher = fileURLToPath(new URL('../../bin/agent-relay.cjs', import.meta.url))

export function launcherArgs(args: readonly string[]): string[] {
  return [process.execPath, launcher, ...args]
}

/** npm puts `node_modules/.bin` before the PATH of what it starts; the person's own shell has no such entry. */
const ofNpm = /[\\/]node_modules[\\/]\.bin[\\/]?$/
const isWindows = process.platform === 'win32'

/** The name of the link to the launcher that scripts/setup.mjs leaves at the top of a checkout. */
const linkName = isWindows ? 'agent-relay.cmd' : 'agent-relay'
const checkout = dirname(dirname(dirname(dirname(launcher))))

/** The name for a person whose shell is in `cwd`. */
export function ownName(env: Env, cwd: string | undefined = workingDirectory()): string {
  if (isFirstOurs(ownFolders(env), '.')) return 'agent-relay'
  const above = cwd === undefined ? undefined : foldersUpward(cwd).find(hasLink)
  if (cwd !== undefined && above !== undefined) return fromHere(relative(cwd, above))
  // Without `--no`, npx would fetch whatever a registry has under the name; without `--`, npm would take `--help` for itself.
  if (cwd !== undefined && isFirstOurs(binFolders(cwd), '../..')) return 'npx --no -- agent-relay'
  return ownPath()
}

/** The name for a person whose shell may be in any directory. */
export function ownNameAnywhere(env: Env): string {
  return isFirstOurs(ownFolders(env), '.') ? 'agent-relay' : ownPath()
}

function ownPath(): string {
  const path = hasLink(checkout) ? join(checkout, 'agent-relay') : launcher
  if (!isWindows) return shellQuote(path)
  return path === launcher ? `node "${launcher}"` : `"${path}"`
}

/** The link in a folder above the working directory, or in the working directory itself. */
function fromHere(folder: string): string {
  if (isWindows) return `${folder || '.'}\\agent-relay`
  return `${folder || '.'}/agent-relay`
}

/** Whether the link of our checkout is in this folder. A stranger's file of that name may be. */
function hasLink(folder: string): boolean {
  const path = join(folder, linkName)
  if (!existsSync(path)) return false
  try {
    if (!isWindows) return realpathSync(path) === realpathSync(launcher)
    const own = 'packages\\relay\\bin\\agent-relay.cjs'
    return realpathSync(join(folder, own)) === realpathSync(launcher) && readForeignText(path)?.includes(own) === true
  } catch {
    return false
  }
}

/** Whether the first folder that has a command of this name has ours, since that is the one that would run. */
function isFirstOurs(folders: string[], modulesOf: string): boolean {
  const folder = folders.find((path) => existsSync(join(path, isWindows ? 'agent-relay.cmd' : 'agent-relay')))
  if (folder === undefined) return false
  // On Windows npm makes a script instead of a link; our launcher lies beside it.
  const file = isWindows ? join(modulesOf, 'node_modules/agent-relay/bin/agent-relay.cjs') : 'agent-relay'
  try {
    return realpathSync(join(folder, file)) === realpathSync(launcher)
  } catch {
    return false
  }
}

/** The folders in which npx looks: from the working directory upward. */
function binFolders(cwd: string): string[] {
  return foldersUpward(cwd).map((folder) => join(folder, 'node_modules', '.bin'))
}

function foldersUpward(folder: string): string[] {
  const parent = dirname(folder)
  return [folder, ...(parent === folder ? [] : foldersUpward(parent))]
}

/** The options on this command line that a suggested command has to repeat. */
export interface Repeated {
  /** For example `--as Bob` and `--project shop`. */
  options: string[]
  /** The commands that take them, as a pattern: `inbox|runs(?: [a-z]+)?`. */
  commands: string
}

/** Rewrites the commands in a text so that they can be typed here, for the same agent and workspace. The daemon's texts cannot know how. */
export function asTyped(text: string, env: Env, repeated?: Repeated): string {
  if (text.search(ownCommand) < 0) return text
  return withOwnName(withRepeated(text, repeated), ownName(env))
}

/** Arguments and options up to the end of the line, with no further sentence. */
const isCommandAlone = /^(?: (?:"[^"]*"|[\w#*@/=-]+))*$/

function withRepeated(text: string, repeated: Repeated | undefined): string {
  if (!repeated || repeated.options.length === 0) return text
  // Matches up to the next command, which has its own options, or to the end of the line.
  const advised = new RegExp(
    `(${ownCommand.source}) (${repeated.commands})(?![\\w-])((?:(?!${ownCommand.source}).)*)`,
    'g',
  )
  return text.replace(advised, (_, own: string, words: string, rest: string) => {
    const missing = repeated.options.filter((option) => !rest.includes(`${option.split(' ', 1)[0]} `))
    if (isCommandAlone.test(rest)) return `${own} ${[words + rest, ...missing].join(' ')}`
    return `${own} ${[words, ...missing].join(' ')}${rest}`
  })
}

/** The PATH of the person's own shell. */
export function pathOfOwn(env: Env): string {
  return ownFolders(env).join(delimiter)
}

function ownFolders({ PATH }: Env): string[] {
  return programFolders(PATH).filter((folder) => !ofNpm.test(folder))
}
