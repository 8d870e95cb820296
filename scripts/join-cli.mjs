// Joins the commands of the CLI into few files: Node takes a millisecond for each file that it loads, and a command loaded two hundred, which was half
// of its time. tsc has checked and written them; placed() keeps their paths to other files. bin/agent-relay.cjs loads the joined files only where
// nothing was built after them, so that a plain `tsc -b` is enough to try something.
import { mkdtempSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/** Not joined: native code, large libraries that are seldom needed, and the CommonJS of the pipe. */
const apart = [
  '@agent-relay/mcp/edits',
  '@agent-relay/mcp/serve',
  '@lydell/node-pty',
  '@photostructure/sqlite',
  '@xterm/headless',
  'pg',
  'ws',
]

/** The address that replaces a file's `import.meta.url` in `dist/joined`. An archive has the other package in another place. */
const places = {
  'packages/relay/dist/': (path) => `new URL("../${path}", import.meta.url).href`,
  'packages/mcp/dist/': (path) => `import.meta.resolve("@agent-relay/mcp/${path.replace(/(?:\/index)?\.js$/, '')}")`,
}

function placed(root) {
  const libraries = join(root, 'packages/relay/dist/runs/libraries.js')
  return {
    name: 'placed',
    setup({ onLoad, onResolve }) {
      // These are joined already, and loaded with the first run.
      onResolve({ filter: /\/libraries\.js$/ }, ({ path, resolveDir }) =>
        join(resolveDir, path) === libraries ? { path: '../runs/libraries.js', external: true } : undefined,
      )
      // Its CommonJS loads its own files in a way that only Node can follow.
      onLoad({ filter: /\/jsonc-parser\/lib\/umd\/main\.js$/ }, ({ path }) => ({
        contents: "export * as default from '../esm/main.js'",
        resolveDir: dirname(path),
      }))
      // zod's texts in fifty languages, of which none but English is used.
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

/** Whether nothing was built or installed after it. */
export function isCliJoined(root) {
  const timeOf = (path) => statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0
  const sources = [
    ...['relay', 'sdk', 'mcp'].map((name) => `packages/${name}/dist/.tsbuildinfo`),
    'node_modules/.package-lock.json',
    'scripts/join-cli.mjs',
  ]
  return timeOf('packages/relay/dist/joined/main.js') > Math.max(...sources.map(timeOf))
}

/** Joins the files that tsc has written. Replaces the earlier ones at once or not at all: they may be in use. */
export async function joinCli(root) {
  const dist = join(root, 'packages/relay/dist')
  // Not at the top: setup loads this file before anything is installed.
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
      // Some of other people's packages are CommonJS, and ask for parts of Node.
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
