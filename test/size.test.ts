// Tests with two sizes run in both: `npm run test:crash` knows every file that has one. And the lists of the suites are up to date.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { longest } from '../vitest.config.ts'
import { sizedElsewhere } from '../vitest.crash.config.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

test('every test with two sizes is in the full suite', () => {
  const files = ['packages', 'test'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map((path) => `${folder}/${path}`)
      .filter((path) => /\.test\.ts$/.test(path) && !path.includes('node_modules')),
  )
  const sized = files.filter((path) => /from '[./]+\/size\.ts'/.test(readFileSync(join(root, path), 'utf8')))
  expect(sized.length).toBeGreaterThan(10)
  const missing = sized.filter((path) => !path.startsWith('test/crash/') && !sizedElsewhere.includes(path))
  expect(missing).toEqual([])
})

test('the lists of files name files that exist', () => {
  expect([...sizedElsewhere, ...longest].filter((path) => !existsSync(join(root, path)))).toEqual([])
})
