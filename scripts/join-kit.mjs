// Builds the libraries of the runs into the one file that names them, as tsc has written it. `zod` stays apart: everything here shares it.
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const libraries = ['ai', '@ai-sdk/anthropic', '@ai-sdk/openai-compatible', '@modelcontextprotocol/client']

/** Does nothing where the file is joined already from these versions. Tells whether it wrote. */
export async function joinKit(root) {
  const kit = join(root, 'packages/relay/dist/runs/kit.js')
  if (!existsSync(kit)) return false
  const mark = `// Joined by scripts/join-kit.mjs from ${libraries.map((name) => versionOf(root, name)).join(', ')}.`
  if (readFileSync(kit, 'utf8').startsWith(mark)) return false
  // Vite's own: a tenth of the time that Vite itself would take.
  const { build } = createRequire(createRequire(join(root, 'package.json')).resolve('vite'))('esbuild')
  const joined = `${kit}.joined`
  const { metafile } = await build({
    entryPoints: [kit],
    outfile: joined,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    minifyWhitespace: true,
    minifySyntax: true,
    external: ['zod', 'zod/*'],
    // Some of them are CommonJS inside and ask for parts of Node.
    banner: {
      js: `${mark}\nimport { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)`,
    },
    metafile: true,
    absWorkingDir: root,
    logLevel: 'error',
  })
  writeFileSync(join(root, 'packages/relay/dist/runs/kit.licenses.txt'), licensesOf(root, Object.keys(metafile.inputs)))
  renameSync(joined, kit)
  rmSync(`${kit}.map`, { force: true })
  return true
}

function versionOf(root, name) {
  const { version } = JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8'))
  return `${name} ${version}`
}

/** Of everything that went in: who copies it has to pass these on. */
function licensesOf(root, inputs) {
  const folders = inputs.map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]).filter(Boolean)
  const parts = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
    const file = readdirSync(join(root, folder)).find((entry) => /^licen[cs]e/i.test(entry))
    return `${name} ${version}: ${license}\n\n${file ? readFileSync(join(root, folder, file), 'utf8').trim() : ''}\n`
  })
  return parts.join(`\n${'-'.repeat(80)}\n\n`)
}
