// opencode: its settings, our entry there, and our plugin, which does what hooks do elsewhere.

import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'
import { pluginPath, refreshPlugin } from '../../hooks/opencode-plugin.ts'
import type { HookedEditor, InstalledHook } from '../editor-rule.ts'
import { configHome, type InstallContext, inProject, joinPath, type PathResolver } from '../paths.ts'

const opencodeFolder: PathResolver = (context) => joinPath(context, configHome(context), 'opencode')

/** The settings file of opencode, which merges several files: the one that exists gets the entry. */
const opencodeFile =
  (folder: PathResolver): PathResolver =>
  (context) => {
    const [jsonc, json] = ['opencode.jsonc', 'opencode.json'].map((name) => joinPath(context, folder(context), name))
    return [jsonc, json].find((file) => context.exists(file as string)) ?? (json as string)
  }

const settingsFile = opencodeFile(opencodeFolder)

export const opencode: HookedEditor = {
  keyPath: ['mcp'],
  userFile: settingsFile,
  projectFile: opencodeFile(inProject()),
  detectionPaths: [opencodeFolder],
  entry: ({ command, args }) => ({ type: 'local', command: [command, ...args], enabled: true }),
  liftEntry: (url) => ({ type: 'remote', url: `${url}/mcp`, enabled: true }),
  hooks: {
    // The plugin is a file of this user: it means nothing to others who work on the project.
    entries: (context, isProject) => (isProject ? [] : [pluginEntry(context)]),
    prepare: refreshPlugin,
    deliveryText: 'messages wake it, once it has a session',
    findTrouble: (_, { env, exists }) =>
      exists(pluginPath(env)) ? undefined : { text: ' names a plugin that is not there: ', path: pluginPath(env) },
  },
}

function pluginEntry(context: InstallContext): InstalledHook {
  const path = pluginPath(context.env)
  return {
    file: settingsFile(context),
    keyPath: ['plugin'],
    slot: { mark: basename(path) },
    value: pathToFileURL(path).href,
  }
}
