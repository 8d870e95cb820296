// The package's public entries: their names, that they exist, and that those for the wire load no schemas.

import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect, it } from 'vitest'

const at = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const everywhere = [
  ...['connectRelay', 'Relay'],
  ...['RelayError', 'ConnectionError', 'DaemonNotRunningError', 'AgentNotFoundError', 'ChannelNotFoundError'],
  ...['TimeoutError', 'ActionError'],
]

it('has the names that a program needs, and no others', async () => {
  const [node, browser] = [await import('../src/index.ts'), await import('../src/browser.ts')]
  expect(new Set(Object.keys(node))).toEqual(new Set([...everywhere, 'RelayClient']))
  expect(new Set(Object.keys(browser))).toEqual(new Set(everywhere))
})

it('leads from each entry to a source', () => {
  const { exports } = JSON.parse(readFileSync(at('package.json'), 'utf8'))
  const files = [...JSON.stringify(exports).matchAll(/"\.\/(?:dist|cjs)\/([^"]+)\.(?:d\.ts|js)"/g)].map(
    (found) => found[1],
  )
  const missing = files.filter(
    (file) => !existsSync(at(`src/${file?.replace('/*', '')}${file?.endsWith('*') ? '' : '.ts'}`)),
  )
  expect([files.length > 8, missing]).toEqual([true, []])
})

it('speaks the protocol without loading its schemas', async () => {
  const { metafile } = await build({
    entryPoints: [at('src/wire.ts')],
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    metafile: true,
    write: false,
  })
  const loaded = Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path))
  expect(loaded.filter((path) => !path.startsWith('node:'))).toEqual(['ws'])
})
