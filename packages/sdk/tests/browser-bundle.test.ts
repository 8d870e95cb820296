// The SDK's entries for web pages, bundled as a page would bundle them: no `node:` module, no `ws`, and no zod.

import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect, it } from 'vitest'

const source = (name: string) => fileURLToPath(new URL(`../src/${name}`, import.meta.url))

// A page should not notice it. About 31 kB today, and 27 for our own page: the daemon words its refusals.
it.each([
  ['browser.ts', 35_000],
  ['internal/page.ts', 35_000],
])('%s bundles for a browser without anything of Node', async (name, bytesMax) => {
  const { outputFiles, metafile, warnings } = await build({
    entryPoints: [source(name)],
    bundle: true,
    platform: 'browser',
    format: 'esm',
    minify: true,
    metafile: true,
    write: false,
  })
  expect(warnings).toEqual([])
  const inputs = Object.keys(metafile.inputs)
  expect(inputs.filter((path) => path.includes('node_modules'))).toEqual([])
  const externals = Object.values(metafile.outputs).flatMap(({ imports }) => imports)
  expect(externals).toEqual([])
  const [bundle] = outputFiles
  expect(bundle?.text).not.toMatch(/\bprocess\.|\bBuffer\b|require\(/)
  expect(bundle?.contents.length).toBeLessThan(bytesMax)
})
