// What leads from one page to another leads somewhere, and what describes the packages elsewhere says what they say themselves.

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

test('llms.txt and the index name every how-to', () => {
  const names = docs.filter((name) => name.startsWith('how-to/'))
  for (const index of ['llms.txt', 'docs/README.md'])
    expect(
      names.filter((name) => !read(index).includes(name)),
      index,
    ).toEqual([])
})

describe('packaging', () => {
  const server = json('server.json')

  test('the registry entry is that of the package', () => {
    expect(server.name).toBe(json('packages/mcp/package.json').mcpName)
    expect([server.version, server.packages[0].version]).toEqual([version, version])
    expect(server.packages[0].identifier).toBe('@agent-relay/mcp')
    expect(server.description.length).toBeLessThanOrEqual(100)
  })

  test('all packages have one version', () => {
    for (const name of ['sdk', 'mcp', 'relay']) {
      const { version: own, dependencies = {} } = json(`packages/${name}/package.json`)
      const ours = Object.entries(dependencies).filter(([other]) => other.startsWith('@agent-relay/'))
      expect([own, ...ours.map(([, wanted]) => wanted)]).toEqual(Array(ours.length + 1).fill(version))
    }
  })

  test('the plugin starts this version', () => {
    const plugin = json('.claude-plugin/plugin.json')
    expect([plugin.version, plugin.mcpServers['agent-relay'].args[1]]).toEqual([version, `@agent-relay/mcp@${version}`])
    expect(json('.claude-plugin/marketplace.json').plugins[0].name).toBe(plugin.name)
  })

  test('the one-click links hold the entry', () => {
    const entry = { command: 'npx', args: ['-y', '@agent-relay/mcp', 'serve'] }
    const text = read('README.md')
    const link = (host: string) =>
      new URL(/\((https:\/\/[^)]+)\)/.exec(text.slice(text.indexOf(`(https://${host}`)))?.[1] ?? '')
    const cursor = link('cursor.com').searchParams
    expect(JSON.parse(Buffer.from(cursor.get('config') ?? '', 'base64').toString())).toEqual(entry)
    const code = link('vscode.dev').searchParams
    expect(JSON.parse(code.get('config') ?? '')).toEqual(entry)
    expect([cursor.get('name'), code.get('name')]).toEqual(['agent-relay', 'agent-relay'])
  })
})
