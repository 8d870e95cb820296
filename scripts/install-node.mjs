// Installs another version of Node for a test suite, from the registry's package for this platform. The package `node` itself would fetch it in an
// install script, which npm may not run. `node scripts/install-node.mjs 24` prints the folder that holds it.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { installTool } from './install-tool.mjs'

/** Answers the folder of `node`, or throws with the reason why there is none. */
export function installNode(major) {
  // The registry's packages for macOS end with Node 18.
  if (process.platform !== 'linux')
    throw new Error(`the registry has no package of Node ${major} for ${process.platform}`)
  const name = `node-linux-${process.arch}`
  const folder = join(installTool(`${name}@${major}`), name, 'bin')
  if (!existsSync(join(folder, 'node'))) throw new Error(`the package ${name}@${major} has no program`)
  return folder
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  process.stdout.write(`${installNode(process.argv[2])}\n`)
