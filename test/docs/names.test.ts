// No file of this repository fetches, or tells anybody to fetch, the packages that another project has under our names on the public registry.

import { execFileSync, spawnSync } from 'node:child_process'
import { lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, test } from 'vitest'
import { registryNames } from '../../scripts/registry-names.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
/** Tells what former versions did. */
const allowed = ['CHANGELOG.md']

test('no tracked file asks a registry for our names', () => {
  const tracked = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
  const files = tracked.split('\0').filter((path) => path !== '' && !allowed.includes(path))
  expect(files.length).toBeGreaterThan(500)
  const found = files.flatMap((path) => {
    const stats = lstatSync(join(root, path), { throwIfNoEntry: false })
    if (!stats?.isFile() || /\.(?:png|ico|woff2?)$/.test(path)) return []
    return registryNames(path, readFileSync(join(root, path), 'utf8'))
  })
  expect(found).toEqual([])
})

test('only packages of this workspace, which npm links, depend on ours', () => {
  const manifests = execFileSync('git', ['ls-files', '*package.json'], { cwd: root, encoding: 'utf8' })
    .trim()
    .split('\n')
  const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'))
  const linked = (read('package.json').workspaces as string[]).map((folder) => `${folder}/package.json`)
  const depending = manifests.filter((path) =>
    /"(?:@agent-relay\/[^"]+|agent-relay)": "/.test(JSON.stringify(read(path), null, 1)),
  )
  expect(depending.length).toBeGreaterThan(0)
  expect(depending.filter((path) => !linked.includes(path))).toEqual([])
})

test.each(['sdk', 'mcp', 'relay'])('npm publish refuses packages/%s', (folder) => {
  const cwd = join(root, 'packages', folder)
  const { name, private: isPrivate, scripts } = JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8'))
  // npm itself refuses what is private. It runs no script here (.npmrc), so the script is for where it does.
  expect(isPrivate).toBe(true)
  const env = { ...process.env, npm_package_name: name }
  const { status, stderr } = spawnSync('sh', ['-c', scripts.prepublishOnly], { cwd, env, encoding: 'utf8' })
  expect([status, stderr]).toEqual([1, expect.stringContaining('another project')])
})

/** Put together here, so that this file itself is clean. */
const [relay, scope] = [['agent', 'relay'].join('-'), ['@agent', 'relay'].join('-')]
const npx = ['n', 'px'].join('')

describe('a planted line is found', () => {
  it.each([
    `    ${npx} ${relay} up`,
    `run ${npx} -y ${scope}/mcp serve`,
    `${npx} --yes --package ${scope}/mcp@0.1.0 ${relay}-mcp`,
    `npm install ${scope}/sdk`,
    `npm i -g ${relay}`,
    `npm install -g ${relay}@latest`,
    `pnpm add -D ${scope}/sdk`,
    `yarn dlx ${relay} up`,
    `npm exec ${relay} -- up`,
    `npm view ${relay} version`,
    `npm install -g out/${relay}-0.1.0-linux-x64.tgz`,
    `{ "command": "${npx}", "args": ["-y", "${scope}/mcp", "serve"] }`,
    `{\n  "command": "${npx}",\n  "args": [\n    "-y",\n    "${scope}/mcp@0.1.0"\n  ]\n}`,
    `[the package](https://www.npmjs.com/package/${relay})`,
    `https://cdn.jsdelivr.net/npm/${scope}/sdk/+esm`,
    `https://vscode.dev/redirect/mcp/${'install'}?name=${relay}`,
    `config=${Buffer.from(JSON.stringify({ command: npx, args: ['-y', `${scope}/mcp`, 'serve'] })).toString('base64')}`,
    `${encodeURIComponent(JSON.stringify({ command: npx, args: ['-y', `${scope}/mcp`] }))}`,
    `{ "${'registry'}Type": "npm", "identifier": "${scope}/mcp" }`,
    `"sdk": "npm:${scope}/sdk@1"`,
    `"resolved": "https://registry.example/${scope}/sdk/-/sdk-0.1.0.tgz"`,
  ])('%s', (line) => {
    expect(registryNames('x', line)).not.toEqual([])
  })
})

describe('what fetches nothing is left alone', () => {
  it.each([
    `${npx} --no ${relay} mcp install`,
    `npm install -g ./out/${relay}-0.1.0-linux-x64.tgz`,
    `npm install --no-audit /path/to/checkout/out/${relay}-sdk-0.1.0.tgz`,
    `import { connectRelay } from '${scope}/sdk'`,
    `npm start, then ${relay} up`,
    `npm install zod`,
    `["${npx}", ["--no", "${relay}", "help"]]`,
    `${relay} mcp install`,
  ])('%s', (line) => {
    expect(registryNames('x', line)).toEqual([])
  })
})
