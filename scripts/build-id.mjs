// Names a build by what it holds, so that two builds of one version differ: `daemon upgrade` and the hints about an older daemon compare it. The same sources
// make the same id on every machine.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, sep } from 'node:path'

const idFile = 'packages/relay/dist/build-id'
/** The packages that a daemon runs. */
const packages = ['relay', 'sdk', 'protocol', 'mcp']
const isProgram = (path) => /\.(?:c?js|html|css)$/.test(path)

/** Writes the id unless it is newer than everything that was built. Returns whether it was written. */
export function writeBuildId(root) {
  const target = join(root, idFile)
  const files = packages.flatMap((name) => builtFiles(root, `packages/${name}/dist`))
  const writtenAt = existsSync(target) ? statSync(target).mtimeMs : 0
  if (files.every((path) => statSync(join(root, path)).mtimeMs <= writtenAt)) return false
  const hash = createHash('sha256')
  for (const path of files.sort()) hash.update(`${path}\0`).update(readFileSync(join(root, path)))
  writeFileSync(target, `${hash.digest('hex').slice(0, 12)}\n`)
  return true
}

function builtFiles(root, folder) {
  if (!existsSync(join(root, folder))) return []
  const found = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  return found.filter(isProgram).map((path) => `${folder}/${path.split(sep).join('/')}`)
}
