// What an installed Agent Relay loads from `packages/relay/dist` besides the joined files: what becomes a thread or a process of its own, and what the
// launcher loads by itself. All other single files are in the joined ones, so that an archive leaves them out.
import { join } from 'node:path'

export const startedApart = [
  'cli/complete.js',
  'machine/path-probe-process.js',
  'runs/libraries.js',
  'runs/loop-thread.js',
  'store/checkpoint-thread.js',
  'store/migrating-thread.js',
  'store/snapshot-thread.js',
]

/** Finds these files with all that they import: the paths of our own files, and the names of the packages. */
export async function loadedApart(root) {
  // Imported here, as in the other scripts: not every caller has installed it.
  const { build } = await import('esbuild')
  const dist = join(root, 'packages/relay/dist')
  const { metafile } = await build({
    absWorkingDir: dist,
    entryPoints: startedApart,
    outdir: join(dist, 'never-written'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    metafile: true,
    write: false,
    logLevel: 'error',
  })
  const imported = Object.values(metafile.inputs).flatMap(({ imports }) => imports)
  const packages = imported.flatMap(({ external, path }) =>
    external && !path.startsWith('node:') ? [/^(?:@[^/]+\/)?[^/]+/.exec(path)[0]] : [],
  )
  return { files: Object.keys(metafile.inputs), packages: [...new Set(packages)] }
}
