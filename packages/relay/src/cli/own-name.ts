// The command with which this program starts itself again, and the one that a person can type: `agent-relay` if that is on their PATH, `./agent-relay` in a
// checkout, otherwise a path. Neither runs another project's program of that name, or downloads a package.

import { existsSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { shellQuote } from '@agent-relay/sdk/internal/command-words'
import { type Env, programFolders, readForeignText, workingDirectory } from '@agent-relay/sdk/internal/discover'
import { ownCommand, withOwnName } from '@agent-relay/sdk/internal/own-command'

/** The script that starts this command line. The path is absolute, since another terminal may have another PATH. */
export const relayScript = fileURLToPath(new URL('../../bin/agent-relay.cjs', import.meta.url))

export function launcherArgs(args: readonly string[]): string[] {
  return [process.execPath, relayScript, ...args]
}

/** Matches folders that npm adds to the PATH of programs that it runs. The PATH of the person's own shell does not have them. */
const ofNpm = /[\\/]node_modules[\\/]\.bin[\\/]?$/
const isWindows = process.platform === 'win32'

/** The name of the link to the launcher, which scripts/setup.mjs makes in the top folder of a checkout. */
const linkName = isWindows ? 'agent-relay.cmd' : 'agent-relay'
const checkout = dirname(dirname(dirname(dirname(relayScript))))

/** Returns the command for a person whose shell is in `cwd`. */
export function ownCommandName(env: Env, cwd: string | undefined = workingDirectory()): string {
  if (isFirstOurs(ownFolders(env), '.')) return 'agent-relay'
  const above = cwd === undefined ? undefined : foldersUpward(cwd).find(hasLink)
  if (cwd !== undefined && above !== undefined) return fromHere(relative(cwd, above))
  // With `--no`, npx does not download a package of this name from a registry; after `--`, options such as `--help` go to our command, not to npm.
  if (cwd !== undefined && isFirstOurs(binFolders(cwd), '../..')) return 'npx --no -- agent-relay'
  return ownPath()
}

/** Returns the command for a person whose shell may be in any directory. */
export function ownNameAnywhere(env: Env): string {
  return isFirstOurs(ownFolders(env), '.') ? 'agent-relay' : ownPath()
}

function ownPath(): string {
  const path = hasLink(checkout) ? join(checkout, 'agent-relay') : relayScript
  if (!isWindows) return shellQuote(path)
  return path === relayScript ? `node "${relayScript}"` : `"${path}"`
}

/** Returns the link as a command to type. `folder` is relative to the working directory, and empty for that directory itself. */
function fromHere(folder: string): string {
  if (isWindows) return `${folder || '.'}\\agent-relay`
  return `${folder || '.'}/agent-relay`
}

/** Whether the folder has the link of our checkout, and no other file of that name. */
function hasLink(folder: string): boolean {
  const path = join(folder, linkName)
  if (!existsSync(path)) return false
  try {
    if (!isWindows) return realpathSync(path) === realpathSync(relayScript)
    const own = 'packages\\relay\\bin\\agent-relay.cjs'
    return (
      realpathSync(join(folder, own)) === realpathSync(relayScript) && readForeignText(path)?.includes(own) === true
    )
  } catch {
    return false
  }
}

/** Whether the first of these folders that has a command `agent-relay` has ours: the first one is the one that would run. */
function isFirstOurs(folders: string[], modulesOf: string): boolean {
  const folder = folders.find((path) => existsSync(join(path, isWindows ? 'agent-relay.cmd' : 'agent-relay')))
  if (folder === undefined) return false
  // On Windows, npm makes a script instead of a link, so the launcher is looked for beside it.
  const file = isWindows ? join(modulesOf, 'node_modules/agent-relay/bin/agent-relay.cjs') : 'agent-relay'
  try {
    return realpathSync(join(folder, file)) === realpathSync(relayScript)
  } catch {
    return false
  }
}

/** Returns the folders in which npx looks for commands: in the working directory and all folders above it. */
function binFolders(cwd: string): string[] {
  return foldersUpward(cwd).map((folder) => join(folder, 'node_modules', '.bin'))
}

function foldersUpward(folder: string): string[] {
  const parent = dirname(folder)
  return [folder, ...(parent === folder ? [] : foldersUpward(parent))]
}

/** The options of this command line that suggested commands must repeat. */
export interface RepeatedOptions {
  /** For example `--as Bob` and `--project shop`. */
  options: string[]
  /** A pattern of the commands that accept these options: `inbox|runs(?: [a-z]+)?`. */
  commands: string
}

/**
 * Rewrites the commands in a text so that the person can type them here, for the same agent and workspace. The daemon, from which the text may come, cannot do
 * that.
 */
export function withCommandsAsTyped(text: string, env: Env, repeated?: RepeatedOptions): string {
  if (text.search(ownCommand) < 0) return text
  return withOwnName(withRepeated(text, repeated), ownCommandName(env))
}

/** Matches if only arguments and options follow the command until the end of the line, and no other words. */
const isCommandAlone = /^(?: (?:"[^"]*"|[\w#*@/=-]+))*$/

function withRepeated(text: string, repeated: RepeatedOptions | undefined): string {
  if (!repeated || repeated.options.length === 0) return text
  // The match ends before the next command in the line, which gets its own options, or at the end of the line.
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

/** Returns the PATH of the person's own shell. */
export function userShellPath(env: Env): string {
  return ownFolders(env).join(delimiter)
}

function ownFolders({ PATH }: Env): string[] {
  return programFolders(PATH).filter((folder) => !ofNpm.test(folder))
}
