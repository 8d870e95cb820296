// A build leaves nothing of sources that are gone, and takes nothing else away.

import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { removeLeftovers } from '../scripts/remove-leftovers.mjs'

test('what was made of a source that is gone is removed', () => {
  const root = mkdtempSync(join(tmpdir(), 'relay-leftovers-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const write = (...paths: string[]) => {
    for (const path of paths) {
      mkdirSync(dirname(join(root, 'packages/one', path)), { recursive: true })
      writeFileSync(join(root, 'packages/one', path), '')
    }
  }
  const here = ['src/a.ts', 'dist/a.js', 'dist/a.js.map', 'dist/a.d.ts', 'src/b/pipe.cts', 'dist/b/pipe.cjs']
  const whole = [
    'dist/joined/chunk.js',
    'dist/page/index.js',
    'dist/completion/bash.sh',
    'cjs/package.json',
    'cjs/a.js',
  ]
  write(...here, ...whole, 'dist/gone.js', 'dist/gone.js.map', 'dist/b/gone.d.ts', 'dist/b/old.cjs', 'cjs/gone.js')
  removeLeftovers(root)
  const left = readdirSync(join(root, 'packages/one'), { recursive: true, encoding: 'utf8', withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(root, 'packages/one').length + 1))
  expect(left.sort()).toEqual([...here, ...whole].sort())
})
