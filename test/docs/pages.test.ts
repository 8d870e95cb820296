// Links between pages have targets, and descriptions of the packages elsewhere match the packages' own.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const json = (path: string) => JSON.parse(read(path))
const { version } = json('packages/mcp/package.json')

const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
const pages = ['README.md', 'AGENTS.md', 'CONTRIBUTING.md', 'llms.txt', ...docs.map((name) => `docs/${name}`)].filter(
  (path) => /\.(md|txt)$/.test(path),
)

test.each(pages)('the links of %s', (page) => {
  const targets = [...read(page).matchAll(/\]\((?!https?:)([^)#\s]+)/g)].map(([, target]) => target as string)
  expect(targets.filter((target) => !existsSync(join(root, dirname(page), target)))).toEqual([])
})

const contributing = ['add-a-cli', 'changes', 'releasing', 'style', 'testing'].map(
  (name) => `docs/contributing/${name}.md`,
)
const guides = ['CONTRIBUTING.md', 'AGENTS.md', ...contributing]

test.each(guides)('the files and scripts that %s names are there', (page) => {
  const named = (pattern: RegExp) => [...read(page).matchAll(pattern)].map(([, name]) => name as string)
  const paths = named(/`((?:packages|test|scripts|docs|\.ci|relay|sdk|mcp)\/[\w./-]*)`/g)
  expect(paths.length).toBeGreaterThan(0)
  const full = (path: string) => path.replace(/^(relay|sdk|mcp)\//, 'packages/$1/src/')
  expect(paths.filter((path) => !existsSync(join(root, full(path))))).toEqual([])
  const scripts = { ...json('package.json').scripts, ...json('packages/sdk/package.json').scripts }
  expect(named(/npm run ([\w:-]+)/g).filter((name) => !(name in scripts))).toEqual([])
})

const architecture = read('docs/contributing/architecture.md')
/** Paths as architecture.md writes them. */
const isThere = (path: string) => ['.', 'packages', 'packages/relay/src'].some((at) => existsSync(join(root, at, path)))

test('the files that architecture.md names are there', () => {
  const paths = [...architecture.matchAll(/`([\w./-]+\/[\w.-]+\.c?ts)`/g)].map(([, path]) => path as string)
  expect(paths.length).toBeGreaterThan(50)
  expect(paths.filter((path) => !isThere(path))).toEqual([])
})

/** The paths of one paragraph. */
const waysOf = (start: string) => {
  const paragraph = architecture.split('\n\n').find((text) => text.includes(start)) as string
  return [...paragraph.slice(paragraph.indexOf(start)).matchAll(/`([\w./-]+)`/g)].map(([, path = '']) => path)
}

test.each([
  ["From the daemon's socket to the row:", 14],
  ['From the row to the answer', 12],
  ['The files of a spawn', 15],
])('%s no more than %i files, and each is there', (start, most) => {
  const paths = waysOf(start)
  expect(paths.filter((path) => !isThere(path))).toEqual([])
  expect(paths.length).toBeGreaterThan(most - 4)
  expect(paths.length).toBeLessThanOrEqual(most)
})

test('llms.txt and the index name every how-to', () => {
  const names = docs.filter((name) => name.startsWith('how-to/'))
  for (const index of ['llms.txt', 'docs/README.md'])
    expect(
      names.filter((name) => !read(index).includes(name)),
      index,
    ).toEqual([])
})

describe('packaging', () => {
  test('all packages have one version', () => {
    for (const name of ['sdk', 'protocol', 'mcp', 'prove', 'relay']) {
      const { version: own, dependencies = {} } = json(`packages/${name}/package.json`)
      const ours = Object.entries(dependencies).filter(([other]) => other.startsWith('@agent-relay/'))
      expect([own, ...ours.map(([, wanted]) => wanted)]).toEqual(Array(ours.length + 1).fill(version))
    }
  })

  test('the plugin has this version, and what it starts is there', () => {
    const plugin = json('.claude-plugin/plugin.json')
    const { command, args } = plugin.mcpServers['agent-relay']
    expect([plugin.version, command, args.length]).toEqual([version, 'sh', 1])
    expect(existsSync(join(root, args[0].slice(args[0].indexOf('}') + 1)))).toBe(true)
    expect(json('.claude-plugin/marketplace.json').plugins[0].name).toBe(plugin.name)
  })
})
