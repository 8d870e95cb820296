// Bundles the stdio pipe and the hooks, which must start in the time of a bare Node: Node takes half a millisecond for each file and three to look up
// a package, so apart they would cost a third of that. tsc checks these sources and writes their types; esbuild writes the code.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'

/** Each entry becomes one file in `dist`. A `require` of another entry inside a function stays, so that the entry is loaded when it is needed. */
const entries = [
  'bin',
  'serve',
  'hooks/mail',
  'hooks/edit',
  'hooks/edits',
  'hooks/permission',
  'hooks/doing',
  'usage',
  'pipe/pipe',
  'pipe/refusing',
  'pipe/starting',
  'pipe/upgrade',
]
const own = /^packages\/(?:mcp\/src|sdk\/dist)\//

/** Bundles the entries, and writes those that are missing or stale. Tells whether it wrote. */
export function joinPipe(root) {
  // Imported here and not at the top: setup loads this file before anything is installed.
  const { buildSync } = createRequire(import.meta.url)('esbuild')
  const { outputFiles, metafile } = buildSync({
    absWorkingDir: root,
    entryPoints: entries.map((name) => `packages/mcp/src/${name}.cts`),
    outbase: 'packages/mcp/src',
    outdir: 'packages/mcp/dist',
    outExtension: { '.js': '.cjs' },
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    external: ['./*.cjs'],
    tsconfigRaw: {},
    metafile: true,
    write: false,
    logLevel: 'error',
  })
  const foreign = Object.keys(metafile.inputs).filter((path) => !own.test(path))
  if (foreign.length > 0)
    throw new Error(`The pipe may load nothing but Node and the SDK's discovery: ${foreign.join(', ')}`)
  const stale = outputFiles.filter(({ path, text }) => !existsSync(path) || readFileSync(path, 'utf8') !== text)
  for (const { path, text } of stale) writeFileSync(path, text)
  return stale.length > 0
}
