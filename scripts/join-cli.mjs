// Joins the commands of the CLI into few files: Node takes a millisecond for each that it loads, and a command loads two hundred, which was half of
// its time. tsc has checked and written the files, and each still finds others as if it were in its own place. bin/agent-relay.cjs loads the joined
// files only if nothing was built after them, so that a plain `tsc -b` is enough to try something.
import { mkdtempSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

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
    rmSync(join(dist, 'joined'), { recursive: true, force: true })
    renameSync(fresh, join(dist, 'joined'))
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true })
    throw error
  }
}
