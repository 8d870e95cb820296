// The command with which this command line starts itself again, and the one that a person can type here: its name if that is on their PATH, through
// npx in a checkout, otherwise its path. Neither ever runs another project's program of that name, or asks a registry for one.

import { existsSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { shellQuote } from '@agent-relay/sdk/internal/command-words'
import { type Env, workingDirectory } from '@agent-relay/sdk/internal/discover'

/** The file that starts this command line: absolute, since another terminal may have another PATH. */
export const launcher = fileURLToPath(new URL('../../bin/agent-relay.cjs', import.meta.url))

export function launcherArgs(args: readonly string[]): string[] {
  return [process.execPath, launcher, ...args]
}

/** npm puts `node_modules/.bin` before the PATH of what it starts; the person's own shell has no such entry. */
const ofNpm = /[\\/]node_modules[\\/]\.bin[\\/]?$/
const isWindows = process.platform === 'win32'

export function ownName(env: Env, cwd: string | undefined = workingDirectory()): string {
  if (isFirstOurs(ownFolders(env), '.')) return 'agent-relay'
  // Without `--no`, npx would fetch whatever a registry has under the name.
  if (isFirstOurs(binFolders(cwd), '../..')) return 'npx --no agent-relay'
  if (isWindows) return `node "${launcher}"`
  return shellQuote(launcher)
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
function binFolders(cwd: string | undefined): string[] {
  if (cwd === undefined) return []
  const parent = dirname(cwd)
  return [join(cwd, 'node_modules', '.bin'), ...(parent === cwd ? [] : binFolders(parent))]
}

/** Our name followed by a command, an option or a usage; not a version, a path or a package. */
const command = /(?<![\w./@-]|npx --no )agent-relay(?= [a-z[-])/g

/** The options on this command line that a suggested command has to repeat. */
export interface Repeated {
  /** For example `--as Bob` and `--project shop`. */
  options: string[]
  /** The commands that take them, as a pattern: `inbox|runs(?: [a-z]+)?`. */
  commands: string
}

/** Rewrites the commands in a text so that they can be typed here, for the same agent and workspace. The daemon's texts cannot know how. */
export function asTyped(text: string, env: Env, repeated?: Repeated): string {
  if (text.search(command) < 0) return text
  const own = ownName(env)
  return withRepeated(text, repeated).replace(command, () => own)
}

/** Arguments and options up to the end of the line, with no further sentence. */
const isCommandAlone = /^(?: (?:"[^"]*"|[\w#*@/=-]+))*$/

function withRepeated(text: string, repeated: Repeated | undefined): string {
  if (!repeated || repeated.options.length === 0) return text
  // Matches up to the next command, which has its own options, or to the end of the line.
  const advised = new RegExp(`(${command.source}) (${repeated.commands})(?![\\w-])((?:(?!${command.source}).)*)`, 'g')
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

function ownFolders({ PATH = '' }: Env): string[] {
  return PATH.split(delimiter).filter((folder) => folder !== '' && !ofNpm.test(folder))
}
