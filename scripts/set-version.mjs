// Sets the version in every file that carries it: `npm run set-version -- 0.2.0`. Without a version it only checks that they agree.
// Text is replaced in place, so that the files keep their own formatting. The changelog's heading is the author's to write.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const versionForm = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/

/** The files that name our version. A package's own line comes first in its file; the others name our own packages. */
export function versionFiles(root) {
  const packages = readdirSync(join(root, 'packages')).map((name) => `packages/${name}/package.json`)
  const others = ['package.json', 'package-lock.json', '.claude-plugin/plugin.json']
  return [...others, ...packages].filter((path) => existsSync(join(root, path)))
}

/** Every place of a version in one file: that of the file's own package, and that of each of our packages that the file asks for. */
function placesIn(path, text) {
  if (path === 'package-lock.json') return lockPlaces(text)
  return [...text.matchAll(/"(?:version|@agent-relay\/\w+)": "([^"]*)"/g)].map(({ index, 0: all, 1: version }) => ({
    version,
    start: index + all.length - 1 - version.length,
  }))
}

/** The lock file holds the version of every library too: only the root's entry and those under `packages/` are ours. */
function lockPlaces(text) {
  const entry = /^ {2}"version": "([^"]*)"|^ {4}"(?:|packages\/[^"]*)": \{[\s\S]*?^ {4}\}/gm
  return [...text.matchAll(entry)].flatMap(({ index, 0: all }) =>
    placesIn('', all).map(({ version, start }) => ({ version, start: index + start })),
  )
}

export function setVersion(root, next) {
  if (!versionForm.test(next)) throw new Error(`"${next}" is not a version: write it like 1.2.3 or 1.2.3-beta.1`)
  for (const path of versionFiles(root)) {
    const text = readFileSync(join(root, path), 'utf8')
    const changed = placesIn(path, text).reduceRight(
      (all, { version, start }) => all.slice(0, start) + next + all.slice(start + version.length),
      text,
    )
    if (changed !== text) writeFileSync(join(root, path), changed)
  }
}

/** The files that do not say what the root's package.json says, with the version that each says. */
export function disagreements(root) {
  const { version: expected } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return versionFiles(root).flatMap((path) => {
    const places = placesIn(path, readFileSync(join(root, path), 'utf8'))
    if (places.length === 0) return [`${path}: no version found`]
    const wrong = places.filter(({ version }) => version !== expected)
    return wrong.map(({ version }) => `${path}: ${version} instead of ${expected}`)
  })
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const next = process.argv[2]
  try {
    if (next !== undefined) setVersion(root, next)
    const wrong = disagreements(root)
    for (const line of wrong) process.stderr.write(`${line}\n`)
    process.exitCode = wrong.length === 0 ? 0 : 1
  } catch (error) {
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 2
  }
}
