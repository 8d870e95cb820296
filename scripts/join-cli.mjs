// Joins the commands of the CLI into few files: Node takes a millisecond for each that it loads, and a command loads two hundred, which was half of
// its time. tsc has checked and written the files, and each still finds others as if it were in its own place. bin/agent-relay.cjs loads the joined
// files only if nothing was built after them, so that a plain `tsc -b` is enough to try something.
import { mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { Script } from 'node:vm'

/** Packages that are not joined: native, large, for one command alone, or CommonJS that the pipe has for itself. */
const apart = [
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

/**
 * Joins `who`, `send` and `inbox` into one file, a function of CommonJS. Beside it lies the form into which this version of V8 compiles it: compiling takes as
 * long as a bare Node's start.
 */
async function joinLight(build, root, folder) {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: [join(root, 'packages/relay/dist/cli/main.js')],
    outfile: join(folder, 'light.cjs'),
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    external: apart,
    minifyWhitespace: true,
    // A script that is compiled apart has no `import()` of its own.
    supported: { 'dynamic-import': false },
    minifySyntax: true,
    define: { 'import.meta.url': 'here' },
    banner: {
      js: "(function(exports,require,module,__filename){const here=require('node:url').pathToFileURL(__filename).href",
    },
    footer: { js: '})' },
    metafile: true,
    write: false,
    logLevel: 'error',
    plugins: [light, placed(root)],
  })
  const heavy = Object.keys(metafile.inputs).find((path) => /\/zod\//.test(path))
  if (heavy !== undefined) throw new Error(`who, send and inbox would load ${heavy}: they have to start light`)
  const [{ text, path }] = outputFiles
  writeFileSync(path, text)
  // All functions, also those that no start calls. The flag is taken back before V8 writes its flags down.
  setFlagsFromString('--no-lazy')
  // V8 keeps this name for stack traces.
  const script = new Script(text, { filename: 'agent-relay/dist/joined/light.cjs' })
  setFlagsFromString('--lazy')
  writeFileSync(join(folder, `light-${process.versions.v8}-${process.arch}.bin`), script.createCachedData())
}

/** Whether nothing was built or installed after the commands were joined. */
export function isCliJoined(root) {
  const timeOf = (path) => statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0
  const sources = [
    ...['relay', 'sdk', 'mcp'].map((name) => `packages/${name}/dist/.tsbuildinfo`),
    'node_modules/.package-lock.json',
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
    await build({
      absWorkingDir: root,
      entryPoints: { main: join(dist, 'cli/main.js') },
      outdir: fresh,
      bundle: true,
      splitting: true,
      platform: 'node',
      target: 'node20',
      format: 'esm',
      external: apart,
      minifyWhitespace: true,
      // Some packages of other people are CommonJS, and ask for parts of Node.
      banner: {
        js: "import { createRequire as requireOf } from 'node:module'\nconst require = requireOf(import.meta.url)",
      },
      logLevel: 'error',
      plugins: [placed(root)],
    })
    await joinLight(build, root, fresh)
    rmSync(join(dist, 'joined'), { recursive: true, force: true })
    renameSync(fresh, join(dist, 'joined'))
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true })
    throw error
  }
}
