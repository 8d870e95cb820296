// How a person here starts this very command line: by its name where it is installed, through npx in a checkout or a project.

import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Env } from '@agent-relay/sdk/discover'

/** npm puts `node_modules/.bin` before the PATH of what it starts; the person's own shell has no such entry. */
const ofNpm = /[\\/]node_modules[\\/]\.bin[\\/]?$/
const files = process.platform === 'win32' ? ['agent-relay.cmd', 'agent-relay.ps1'] : ['agent-relay']

export function ownName(env: Env): string {
  const isInstalled = ownFolders(env).some((folder) => files.some((file) => existsSync(join(folder, file))))
  return isInstalled ? 'agent-relay' : 'npx agent-relay'
}

/** Our name with a word of a command, an option or a usage after it; not a version, a path or a package. */
const command = /(?<![\w./@-]|npx )agent-relay(?= [a-z[-])/g

/** The commands in a text of ours, or of the daemon's, which cannot know how it is called here: as they can be typed. */
export function asTyped(text: string, env: Env): string {
  if (text.search(command) < 0) return text
  const own = ownName(env)
  return text.replace(command, own)
}

/** The PATH as the person has it. */
export function pathOfOwn(env: Env): string {
  return ownFolders(env).join(delimiter)
}

function ownFolders({ PATH = '' }: Env): string[] {
  return PATH.split(delimiter).filter((folder) => folder !== '' && !ofNpm.test(folder))
}
