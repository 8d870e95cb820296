// `npm run pack [OUT]`: makes the two archives that people install: Agent Relay whole, for this platform, and the SDK for programs. Each holds
// all that it needs at run time, and no script: npm has nothing to look up and nothing to run.
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packagesApart } from './join-cli.mjs'
import { loadedApart } from './loaded-apart.mjs'

const root = realpathSync(fileURLToPath(new URL('..', import.meta.url)))
const platform = `${process.platform}-${process.arch}`
const json = (path) => JSON.parse(readFileSync(path, 'utf8'))

/** The dependencies that only a build of the addon needs. */
const buildOnly = { '@photostructure/sqlite': ['node-addon-api'] }
/** The files of other people's packages that are left out: sources, maps, files for a compiler, and the binaries of other platforms. */
const unused = [
  /\.map$/,
  /\.tsbuildinfo$/,
  /\/binding\.gyp$/,
  /^\/(?:src|scripts|test|tests|docs)\//,
  /^\/CHANGELOG\.md$/,
]
const isUnused = (path) =>
  unused.some((pattern) => pattern.test(path)) ||
  (/^\/prebuilds\/[^/]+/.test(path) && !path.startsWith(`/prebuilds/${platform}`))

/** The fields of an installed package's manifest that Node and npm read. Scripts are not among them. */
const kept = [
  'name',
  'version',
  'description',
  'license',
  'author',
  'type',
  'main',
  'module',
  'types',
  'exports',
  'imports',
  'browser',
  'bin',
  'engines',
]

/** One archive: a folder that holds the package and, in its node_modules, everything it needs. */
class Archive {
  folder
  #source
  #more
  /** The folder from which each package of the bundle came, by its place in the archive. */
  #placed = new Map()

  constructor(folder, source, more = {}) {
    this.folder = folder
    this.#source = join(root, source)
    this.#more = more
  }

  /** Makes the archive, and answers its path. */
  write(out, name) {
    const manifest = json(join(this.#source, 'package.json'))
    const { isLoaded = () => true, packages = Object.keys(manifest.dependencies) } = this.#more
    this.#copyOwn(this.#source, this.folder, isLoaded)
    this.#bundle(this.#source, { ...manifest, dependencies: pick(manifest.dependencies, packages) }, this.folder)
    const direct = [...this.#placed.keys()].filter((place) => !place.includes('/node_modules/'))
    const versions = direct.map((place) => [
      place,
      json(join(this.folder, 'node_modules', place, 'package.json')).version,
    ])
    const dependencies = Object.fromEntries(versions)
    const { files, bin, ...rest } = pick(manifest, [...kept, 'files'])
    const own = { ...rest, bin: bin && { ...bin, ...this.#more.bin }, ...pick(this.#more, ['os', 'cpu']), files }
    write(this.folder, { ...own, dependencies, bundleDependencies: direct })
    const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', this.folder]
    const made = npm([...args, '.'], this.folder)
      .trim()
      .split('\n')
      .at(-1)
    renameSync(join(this.folder, made), join(out, name))
    return join(out, name)
  }

  /** Copies a package of this repository: the files that its own list names. `isLoaded`: whether anybody loads a file, by its path in the package. */
  #copyOwn(source, target, isLoaded = () => true) {
    const { files } = json(join(source, 'package.json'))
    const names = ['README.md', 'LICENSE', ...files.filter((name) => !name.startsWith('!'))]
    for (const name of names)
      copy(
        join(source, name),
        join(target, name),
        (path) => !/\.map$|tsbuildinfo$/.test(path) && isLoaded(`${name}${path}`),
      )
  }

  #bundle(source, { name, dependencies = {}, optionalDependencies = {} }, target) {
    for (const wanted of Object.keys({ ...dependencies, ...optionalDependencies })) {
      if (buildOnly[name]?.includes(wanted)) continue
      const found = find(wanted, source)
      // An optional package for another platform is not installed here.
      if (found === undefined && wanted in optionalDependencies) continue
      if (found === undefined) throw new Error(`${name} needs ${wanted}, which is not installed. Run: npm run setup`)
      const place = this.#placed.get(wanted) === undefined || this.#placed.get(wanted) === found ? wanted : undefined
      // Two versions of one package: the second lies inside the one that needs it.
      const home = place === undefined ? join(target, 'node_modules', wanted) : join(this.folder, 'node_modules', place)
      const key = home.slice(join(this.folder, 'node_modules').length + 1)
      if (this.#placed.get(key) === found) continue
      this.#placed.set(key, found)
      this.#add(found, home)
    }
  }

  #add(source, target) {
    const manifest = json(join(source, 'package.json'))
    const isOwn = manifest.name.startsWith('@agent-relay/')
    if (isOwn) this.#copyOwn(source, target)
    else copy(source, target, (path) => !isUnused(path) && !path.startsWith('/node_modules/'))
    this.#bundle(source, manifest, target)
    const { dependencies = {}, optionalDependencies = {} } = manifest
    const present = Object.keys({ ...dependencies, ...optionalDependencies }).filter(
      (name) => !buildOnly[manifest.name]?.includes(name) && find(name, source) !== undefined,
    )
    write(target, {
      ...pick(manifest, kept),
      dependencies: pick({ ...optionalDependencies, ...dependencies }, present),
    })
  }
}

/** Looks a package up as Node does. */
function find(name, from) {
  for (let folder = from; ; folder = dirname(folder)) {
    const path = join(folder, 'node_modules', name)
    if (existsSync(join(path, 'package.json'))) return realpathSync(path)
    if (folder === root || folder === dirname(folder)) return undefined
  }
}

function copy(source, target, isWanted) {
  if (!existsSync(source)) throw new Error(`${source} is missing. Run: npm run setup`)
  const filter = (path) =>
    statSync(path).isDirectory() ? isWanted(`${path.slice(source.length)}/`) : isWanted(path.slice(source.length))
  cpSync(source, target, { recursive: true, dereference: true, filter })
}

function pick(object, names) {
  return Object.fromEntries(names.filter((name) => object[name] !== undefined).map((name) => [name, object[name]]))
}

function write(folder, manifest) {
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
}

function npm(args, cwd) {
  const options = { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }
  return process.platform === 'win32'
    ? execFileSync('cmd', ['/c', 'npm', ...args], options)
    : execFileSync('npm', args, options)
}

/** What the archive of Agent Relay holds of its own package, whose `dist` has most of its code twice: in single files, and joined. */
async function partsOfRelay() {
  const { files, packages } = await loadedApart(root)
  const alone = new Set(files.map((path) => `dist/${path}`))
  const isSingle = (path) => /^dist\/(?!joined\/|page\/).*\.js$/.test(path)
  return {
    isLoaded: (path) => !isSingle(path) || alone.has(path),
    packages: [...packages, ...packagesApart.map((name) => /^(?:@[^/]+\/)?[^/]+/.exec(name)[0])],
  }
}

const out = resolve(process.argv[2] ?? join(root, 'out'))
mkdirSync(out, { recursive: true })
// One archive of each kind, so that the documented commands name exactly one file.
const former = new RegExp(`^agent-relay-(?:sdk-\\d.*|\\d.*-${platform})\\.tgz$`)
for (const name of readdirSync(out)) if (former.test(name)) rmSync(join(out, name))
const stage = mkdtempSync(join(out, '.stage-'))
const leave = () => rmSync(stage, { recursive: true, force: true })
process.once('exit', leave)
const { version } = json(join(root, 'packages/relay/package.json'))
const archives = [
  [
    new Archive(join(stage, 'relay'), 'packages/relay', {
      ...(await partsOfRelay()),
      bin: { 'agent-relay-mcp': './node_modules/@agent-relay/mcp/bin/agent-relay-mcp.cjs' },
      os: [process.platform],
      cpu: [process.arch],
    }),
    `agent-relay-${version}-${platform}.tgz`,
  ],
  [new Archive(join(stage, 'sdk'), 'packages/sdk'), `agent-relay-sdk-${version}.tgz`],
]
for (const [archive, name] of archives) {
  mkdirSync(archive.folder)
  process.stdout.write(`${archive.write(out, name)}\n`)
}
