// Joins the libraries of runs into the one file that names them, as tsc has written it. `zod` stays apart: everything here shares it.
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const libraries = ['ai', '@ai-sdk/anthropic', '@ai-sdk/openai-compatible', '@modelcontextprotocol/client']

const bundleOf = (root) => join(root, 'packages/relay/dist/runs/libraries.js')
const markOf = (root) =>
  `// Joined by scripts/join-libraries.mjs from ${libraries.map((name) => versionOf(root, name)).join(', ')}.`

/** Whether the file is joined already, from these versions. */
export function areLibrariesJoined(root) {
  const bundle = bundleOf(root)
  return !existsSync(bundle) || readFileSync(bundle, 'utf8').startsWith(markOf(root))
}

/** Joins the libraries into the file that names them. */
export async function joinLibraries(root) {
  const [bundle, mark] = [bundleOf(root), markOf(root)]
  // Imported here and not at the top: setup loads this file before anything is installed.
  const { build } = await import('esbuild')
  const joined = `${bundle}.joined`
  const { metafile } = await build({
    entryPoints: [bundle],
    outfile: joined,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    minifyWhitespace: true,
    minifySyntax: true,
    external: ['zod', 'zod/*'],
    // Some libraries are CommonJS inside, and ask for parts of Node.
    banner: {
      js: `${mark}\nimport { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)`,
    },
    metafile: true,
    absWorkingDir: root,
    logLevel: 'error',
  })
  writeFileSync(
    join(root, 'packages/relay/dist/runs/libraries.licenses.txt'),
    licensesOf(root, Object.keys(metafile.inputs)),
  )
  renameSync(joined, bundle)
  rmSync(`${bundle}.map`, { force: true })
}

function versionOf(root, name) {
  const { version } = JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8'))
  return `${name} ${version}`
}

/** The licences of everything that was joined: whoever copies it has to pass these on. */
export function licensesOf(root, inputs) {
  const folders = inputs.map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]).filter(Boolean)
  const parts = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
    const file = readdirSync(join(root, folder)).find((entry) => /^licen[cs]e/i.test(entry))
    return `${name} ${version}: ${license}\n\n${file ? readFileSync(join(root, folder, file), 'utf8').trim() : ''}\n`
  })
  return parts.join(`\n${'-'.repeat(80)}\n\n`)
}
