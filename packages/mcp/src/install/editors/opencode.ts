// opencode: its settings, our entry there, and our plugin, which does what hooks do elsewhere.

import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'
import { pluginPath, refreshPlugin } from '../../hooks/opencode-plugin.ts'
import type { HookedEditor, InstalledHook } from '../editor-rule.ts'
import { configHome, type InstallContext, inProject, joined, type Path } from '../paths.ts'

const opencodeFolder: Path = (around) => joined(around, configHome(around), 'opencode')

/** The settings file of opencode, which merges several files: the one that exists gets the entry. */
const opencodeFile =
  (folder: Path): Path =>
  (around) => {
    const [jsonc, json] = ['opencode.jsonc', 'opencode.json'].map((name) => joined(around, folder(around), name))
    return [jsonc, json].find((file) => around.exists(file as string)) ?? (json as string)
  }

const settingsFile = opencodeFile(opencodeFolder)

export const opencode: HookedEditor = {
  keyPath: ['mcp'],
  userFile: settingsFile,
  projectFile: opencodeFile(inProject()),
  signs: [opencodeFolder],
  entry: ({ command, args }) => ({ type: 'local', command: [command, ...args], enabled: true }),
  liftEntry: (url) => ({ type: 'remote', url: `${url}/mcp`, enabled: true }),
  hooks: {
    // The plugin is a file of this user: it means nothing to others who work on the project.
    entries: (around, isProject) => (isProject ? [] : [pluginEntry(around)]),
    prepare: refreshPlugin,
    reach: 'messages wake it, once it has a session',
    trouble: (_, { env, exists }) =>
      exists(pluginPath(env)) ? undefined : { text: ' names a plugin that is not there: ', path: pluginPath(env) },
  },
}

function pluginEntry(around: InstallContext): InstalledHook {
  const path = pluginPath(around.env)
  return {
    file: settingsFile(around),
    keyPath: ['plugin'],
    slot: { mark: basename(path) },
    value: pathToFileURL(path).href,
  }
}
