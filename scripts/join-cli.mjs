// Joins the commands of the CLI into few files: Node takes a millisecond for each that it loads, and a command loads two hundred, which was half of
// its time. tsc has checked and written the files, and each still finds others as if it were in its own place. bin/agent-relay.cjs loads the joined
// files only if nothing was built after them, so that a plain `tsc -b` is enough to try something.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { Script } from 'node:vm'
import { licensesOf } from './join-libraries.mjs'

/** Packages that are not joined, by their names or entries: native, large, for one command alone, or CommonJS that the pipe has for itself. */
export const packagesApart = [
  '@agent-relay/mcp/edits',
  '@agent-relay/mcp/serve',
  '@agent-relay/prove',
  '@lydell/node-pty',
  '@photostructure/sqlite',
  '@xterm/headless',
  'pg',
  'ws',
]

/** The place of a file of ours, from which it looks for another one, as seen from `dist/joined`. An archive has the other package elsewhere. */
const places = {
  'packages/relay/dist/': (path) => `new URL("../${path}", import.meta.url).href`,
  'packages/mcp/dist/': (path) => `import.meta.resolve("@agent-relay/mcp/${path.replace(/(?:\/index)?\.js$/, '')}")`,
}

function placed(root) {
  const libraries = join(root, 'packages/relay/dist/runs/libraries.js')
  return {
    name: 'placed',
    setup({ onLoad, onResolve }) {
      // The libraries of runs are joined already, and loaded with the first run.
      onResolve({ filter: /\/libraries\.js$/ }, ({ path, resolveDir }) =>
        join(resolveDir, path) === libraries ? { path: '../runs/libraries.js', external: true } : undefined,
      )
      // In CommonJS, jsonc-parser loads its own files in a way that only Node can follow.
      onLoad({ filter: /\/jsonc-parser\/lib\/umd\/main\.js$/ }, ({ path }) => ({
        contents: "export * as default from '../esm/main.js'",
        resolveDir: dirname(path),
      }))
      // zod has texts in fifty languages, of which we need only the default.
      onLoad({ filter: /\/zod\/v4\/locales\/index\.js$/ }, ({ path }) => ({
        contents: "export { default as en } from './en.js'",
        resolveDir: dirname(path),
      }))
      onLoad({ filter: /\/packages\/\w+\/dist\/.*\.js$/ }, ({ path }) => {
        const text = readFileSync(path, 'utf8')
        if (!text.includes('import.meta.url')) return undefined
        const own = relative(root, path).replaceAll('\\', '/')
        const [folder, place] = Object.entries(places).find(([each]) => own.startsWith(each)) ?? []
        if (place === undefined) throw new Error(`${own} looks for a file that scripts/join-cli.mjs does not know`)
        return { contents: text.replaceAll('import.meta.url', place(own.slice(folder.length))) }
      })
    },
  }
}

/** What `who`, `send` and `inbox` import when they run, in the words of the importing file. The launcher has the list of these commands. */
const lightParts = [
  './commands/agents.js',
  './commands/messages/send.js',
  './commands/messages/inbox.js',
  './exit.js',
  '@agent-relay/sdk/protocol/refusals',
]

const light = {
  name: 'light',
  setup({ onLoad, onResolve }) {
    // The other commands are never asked of this bundle.
    onResolve({ filter: /\/commands\// }, ({ kind, path }) =>
      kind === 'dynamic-import' ? { path, external: true } : undefined,
    )
    // What is imported from the beginning shares one scope, and what nobody uses of it is left out.
    onLoad({ filter: /\/relay\/dist\/cli\/(?:main|exit|catalog-agents)\.js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      const parts = lightParts.filter((part) => text.includes(`await import('${part}')`))
      const imports = parts.map((part, i) => `import * as part${i} from '${part}'\n`)
      const contents = parts.reduce((all, part, i) => all.replaceAll(`await import('${part}')`, `part${i}`), text)
      return { contents: imports.join('') + contents }
    })
    // Commander loads the part of Node that starts programs, for a way to run commands that we do not use.
    onLoad({ filter: /\/commander\/lib\/command\.js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      const lazy = text
        .replace("const childProcess = require('node:child_process');\n", '')
        .replaceAll('childProcess.', "require('node:child_process').")
      if (lazy === text) throw new Error(`${path} is another one than scripts/join-cli.mjs knows`)
      return { contents: lazy }
    })
  },
}

/** Of the catalog's commands, this file is asked only for those that become a daemon. The launcher has the list of these commands. */
const daemon = {
  name: 'daemon',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/commands\// }, ({ kind, path }) =>
      kind === 'dynamic-import' && !/^\.\/commands\/(?:daemon\/|lift\/|demo\.js$)/.test(path)
        ? { path, external: true }
        : undefined,
    )
  },
}

/** Of the commands that become a daemon, the joined files with parts have the help alone: nobody asks them for the daemon itself. */
const others = (root) => ({
  name: 'others',
  setup({ onResolve }) {
    const own = join(root, 'packages/relay/dist/daemon/daemon.js')
    onResolve({ filter: /\/daemon\.js$/ }, ({ path, resolveDir }) =>
      join(resolveDir, path) === own ? { path: '../daemon/daemon.js', external: true } : undefined,
    )
  },
})

/** Joins commands into one file without parts: a function of CommonJS, which bin/agent-relay.cjs calls. Returns its text, and which files are in it. */
async function joinWhole(build, root, path, { plugin, banner, define }) {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: [join(root, 'packages/relay/dist/cli/main.js')],
    outfile: path,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    external: packagesApart,
    minifyWhitespace: true,
    // A script that is compiled apart has no `import()` of its own.
    supported: { 'dynamic-import': false },
    minifySyntax: true,
    define: { 'import.meta.url': 'here', ...define },
    banner: {
      js: `(function(exports,require,module,__filename){const here=require('node:url').pathToFileURL(__filename).href;${banner ?? ''}`,
    },
    footer: { js: '})' },
    metafile: true,
    write: false,
    logLevel: 'error',
    plugins: [plugin, placed(root)],
  })
  const ascii = withAsciiOnly(outputFiles[0].text)
  const digest = createHash('sha256').update(ascii).digest('hex').slice(0, 16)
  const text = `/*${digest}*/${ascii}`
  writeFileSync(path, text)
  return { text, digest, inputs: Object.keys(metafile.inputs) }
}

/** V8 keeps a text of ASCII outside of its heap, in half the room. esbuild escapes other letters everywhere except in regular expressions. */
function withAsciiOnly(text) {
  if (/\.raw`[^`]*[^\0-\x7f]/.test(text))
    throw new Error('a raw template has letters beyond ASCII, which cannot be escaped')
  return text.replace(/[^\0-\x7f]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** V8 keeps this name for stack traces. */
const compile = (name, text) => new Script(text, { filename: `agent-relay/dist/joined/${name}.cjs` })

/**
 * Writes the form into which this version of V8 has compiled a joined file: compiling takes as long as a bare Node's start. bin/agent-relay.cjs finds it by
 * this name.
 */
function writeCompiled(folder, name, { digest }, script) {
  const path = join(folder, `${name}.${digest}-${process.versions.v8}-${process.arch}.bin`)
  writeFileSync(path, script.createCachedData())
  return path
}

/** Joins `who`, `send` and `inbox`. Returns the path of the compiled form, which has all functions. */
async function joinLight(build, root, folder) {
  const joined = await joinWhole(build, root, join(folder, 'light.cjs'), { plugin: light })
  const heavy = joined.inputs.find((path) => /\/zod\//.test(path))
  if (heavy !== undefined) throw new Error(`who, send and inbox would load ${heavy}: they have to start light`)
  // All functions, also those that no start calls. The flag is taken back before V8 writes its flags down.
  setFlagsFromString('--no-lazy')
  const script = compile('light', joined.text)
  setFlagsFromString('--lazy')
  return writeCompiled(folder, 'light', joined, script)
}

/**
 * Joins what becomes a daemon: `daemon run`, `up`, `lift` and `demo`. The file has no parts, since a daemon asks for some of them after days, when a later build may
 * have replaced them. Only what every start runs is compiled in advance: the rest would be a tenth of an idle daemon's memory.
 */
async function joinDaemon(build, root, folder) {
  const joined = await joinWhole(build, root, join(folder, 'daemon.cjs'), {
    plugin: daemon,
    define: { 'import.meta.resolve': 'placeOf' },
    banner:
      "require=require('node:module').createRequire(here);const placeOf=(name)=>require('node:url').pathToFileURL(require.resolve(name)).href",
  })
  writeCompiled(folder, 'daemon', joined, compile('daemon', joined.text))
  return joined.inputs
}

/** Whether nothing was built or installed after the commands were joined. */
export function isCliJoined(root) {
  const timeOf = (path) => statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0
  const sources = [
    ...['relay', 'sdk', 'mcp'].map((name) => `packages/${name}/dist/.tsbuildinfo`),
    'node_modules/.package-lock.json',
    'scripts/compile-light.mjs',
    'scripts/join-cli.mjs',
  ]
  return timeOf('packages/relay/dist/joined/main.js') > Math.max(...sources.map(timeOf))
}

/** Joins the files that tsc has written. Ends whole or not at all: the former ones may be in use. */
export async function joinCli(root) {
  const dist = join(root, 'packages/relay/dist')
  // Imported here and not at the top: setup loads this file before anything is installed.
  const { build } = await import('esbuild')
  const fresh = mkdtempSync(join(dist, 'joined-'))
  try {
    const { metafile } = await build({
      absWorkingDir: root,
      entryPoints: { main: join(dist, 'cli/main.js') },
      outdir: fresh,
      bundle: true,
      splitting: true,
      platform: 'node',
      target: 'node20',
      format: 'esm',
      external: packagesApart,
      minifyWhitespace: true,
      // Some packages of other people are CommonJS, and ask for parts of Node.
      banner: {
        js: "import { createRequire as requireOf } from 'node:module'\nconst require = requireOf(import.meta.url)",
      },
      metafile: true,
      logLevel: 'error',
      plugins: [others(root), placed(root)],
    })
    const form = await joinLight(build, root, fresh)
    const inputs = [...Object.keys(metafile.inputs), ...(await joinDaemon(build, root, fresh))]
    writeFileSync(join(fresh, 'licenses.txt'), licensesOf(root, inputs))
    // Where no daemon can run, the form with all functions stays.
    const { PATH, TMPDIR } = process.env
    const args = [fileURLToPath(new URL('compile-light.mjs', import.meta.url)), fresh, form]
    spawnSync(process.execPath, args, {
      env: { PATH, TMPDIR },
      stdio: 'ignore',
      timeout: 10_000,
      killSignal: 'SIGKILL',
    })
    // A folder of mkdtemp is closed to other users, who may use this checkout too.
    chmodSync(fresh, statSync(dist).mode & 0o777)
    rmSync(join(dist, 'joined'), { recursive: true, force: true })
    renameSync(fresh, join(dist, 'joined'))
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true })
    throw error
  }
}
