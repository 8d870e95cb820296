// The SDK's entry for web pages, bundled as a page would bundle it: no `node:` module, no `ws`, and no zod.

import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect, it } from 'vitest'

const entry = fileURLToPath(new URL('../src/browser.ts', import.meta.url))

it('bundles for a browser without anything of Node', async () => {
  const { outputFiles, metafile, warnings } = await build({
    entryPoints: [entry],
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
  // About 32 kB today: a page should not notice it.
  expect(bundle?.contents.length).toBeLessThan(50_000)
})
