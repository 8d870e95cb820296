// The version stands in several files: they agree, and one script sets them all.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { disagreements, setVersion, versionFiles } from '../scripts/set-version.mjs'

const tree = fileURLToPath(new URL('..', import.meta.url))
let copy: string
beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), 'version-'))
  for (const name of readdirSync(join(tree, 'packages'))) mkdirSync(join(copy, 'packages', name), { recursive: true })
  for (const path of versionFiles(tree)) {
    mkdirSync(dirname(join(copy, path)), { recursive: true })
    cpSync(join(tree, path), join(copy, path))
  }
})
afterEach(() => rmSync(copy, { recursive: true }))

const read = (path: string): string => readFileSync(join(copy, path), 'utf8')

test('every file of this tree names the same version', () => {
  expect(disagreements(tree)).toEqual([])
})

test('the script sets the version everywhere and changes nothing else', () => {
  const before = new Map(versionFiles(copy).map((path) => [path, read(path)]))
  const { version } = JSON.parse(read('package.json'))
  setVersion(copy, '7.8.9-beta.1')
  expect(disagreements(copy)).toEqual([])
  expect(JSON.parse(read('packages/relay/package.json')).dependencies['@agent-relay/sdk']).toBe('7.8.9-beta.1')
  const lock = JSON.parse(read('package-lock.json'))
  expect(lock.packages['packages/mcp'].version).toBe('7.8.9-beta.1')
  expect(lock.packages['packages/mcp'].dependencies.zod).not.toBe('7.8.9-beta.1')
  setVersion(copy, version)
  for (const [path, text] of before) expect(read(path), path).toBe(text)
})

test('a file that was forgotten is named', () => {
  const path = 'packages/sdk/package.json'
  writeFileSync(join(copy, path), read(path).replace(/"version": "[^"]*"/, '"version": "0.0.1"'))
  expect(disagreements(copy)).toEqual([expect.stringMatching(/^packages\/sdk\/package\.json: 0\.0\.1 instead of /)])
})

test('what is not a version is refused, and nothing is written', () => {
  expect(() => setVersion(copy, 'v2')).toThrow('write it like 1.2.3')
  expect(disagreements(copy)).toEqual([])
})
