// The packed archives in a private prefix, with no repository near and no registry: they install, they are small, agents talk, and the cloud
// image's steps work.

import type { ChildProcess } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packagesApart } from '../../scripts/join-cli.mjs'
import { ModelServer } from '../bench/model-server.ts'
import { deployScript, noRegistry, Prefix, sizeOf, stopped } from './prefix.ts'

const installedBytesMax = 40e6

let prefix: Prefix
beforeAll(async () => {
  prefix = await Prefix.install()
})
afterAll(() => prefix.close())

async function agent(command: string, args: string[], cwd: string, env: Record<string, string>): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StdioClientTransport({ command, args, cwd, env: prefix.env(env), stderr: 'ignore' }))
  return client
}

async function textOf(client: Client, name: string, input: Record<string, unknown>): Promise<string> {
  const { content } = await client.callTool({ name, arguments: input })
  return (content as { text: string }[]).map(({ text }) => text).join('\n')
}

describe('the installation', () => {
  it(`is smaller than ${installedBytesMax / 1e6} MB`, () => {
    const modules = join(prefix.package, 'node_modules')
    const parts = readdirSync(modules)
      .map((name) => [name, Math.round(sizeOf(join(modules, name)) / 1e6)] as const)
      .sort(([, a], [, b]) => b - a)
    // The README names this figure.
    process.stdout.write(`installed: ${(prefix.size / 1e6).toFixed(1)} MB\n`)
    expect(prefix.size, `the largest: ${parts.slice(0, 5).join(' MB; ')} MB`).toBeLessThan(installedBytesMax)
  })

  it('has what was packed, and neither sources nor maps', () => {
    for (const name of [
      '.',
      ...['mcp', 'protocol', 'prove', 'sdk'].map((part) => `node_modules/@agent-relay/${part}`),
    ]) {
      const all = readdirSync(join(prefix.package, name), { recursive: true, encoding: 'utf8' })
      const files = all.filter((file) => !file.startsWith('node_modules/'))
      expect(files.filter((file) => /\.map$|tsbuildinfo|(^|\/)(src|tests)\//.test(file))).toEqual([])
      expect(files).toContain('README.md')
      expect(files).toContain('LICENSE')
    }
  })

  it.each([
    ['ai', 'dist/runs/libraries.licenses.txt'],
    ['hono', 'dist/joined/licenses.txt'],
  ])('has %s in joined files alone, with its licence', (name, licenses) => {
    expect(existsSync(join(prefix.package, 'node_modules', name))).toBe(false)
    expect(readFileSync(join(prefix.package, licenses), 'utf8')).toMatch(new RegExp(`^${name} [\\d.]+: `, 'm'))
  })

  it('has every file and package that its joined files look for, and few other single files', () => {
    const dist = join(prefix.package, 'dist')
    const joined = readdirSync(join(dist, 'joined')).filter((name) => /\.c?js$/.test(name))
    const named = joined.flatMap((name) => {
      const text = readFileSync(join(dist, 'joined', name), 'latin1')
      return [...text.matchAll(/"\.\.\/\.\.\/dist\/([^"]+)"/g)].map(([, path]) => path as string)
    })
    // A part of their code gets the name of its thread from another one.
    const sources = fileURLToPath(new URL('../../packages/relay/src', import.meta.url))
    const threads = readdirSync(sources, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('-thread.ts'))
      .map((path) => path.replace(/ts$/, 'js'))
    expect([...named, ...threads]).toEqual(
      expect.arrayContaining([
        'page/',
        'machine/path-probe-process.js',
        'runs/loop-thread.js',
        'store/snapshot-thread.js',
      ]),
    )
    const isThere = (path: string) => existsSync(join(dist, path))
    expect([...named, ...threads, 'cli/complete.js', 'runs/libraries.js'].filter((path) => !isThere(path))).toEqual([])
    expect(['cli/main.js', 'daemon/daemon.js', 'wires/http.js'].filter(isThere)).toEqual([])
    const { resolve } = createRequire(join(dist, 'joined/main.js'))
    expect(packagesApart.filter((name) => !resolve(name).startsWith(prefix.package))).toEqual([])
  })

  it('has no script that an installation would run, and needs nothing that is not in it', () => {
    const files = readdirSync(prefix.package, { recursive: true, encoding: 'utf8' })
    expect(files.filter((file) => file.endsWith('binding.gyp'))).toEqual([])
    const manifests = files.filter((file) => /^(?:.*node_modules\/(?:@[^/]+\/)?[^/]+\/)?package\.json$/.test(file))
    expect(manifests.length).toBeGreaterThan(20)
    for (const file of manifests) {
      const manifest = JSON.parse(readFileSync(join(prefix.package, file), 'utf8'))
      const { scripts, optionalDependencies, peerDependencies, dependencies = {} } = manifest
      expect([file, scripts, optionalDependencies, peerDependencies]).toEqual([file, undefined, undefined, undefined])
      const missing = Object.keys(dependencies).filter(
        (name) => !existsSync(join(prefix.package, 'node_modules', name, 'package.json')),
      )
      expect(missing, file).toEqual([])
    }
  })
})

it('agent-relay prove, from the package that came with it', async () => {
  const args = ['prove', '--only', 'restart', '--only', 'wake', '--json']
  const { ok, promises } = JSON.parse(await prefix.run('agent-relay', args, prefix.directory('proving')))
  expect([ok, promises.map(({ name }: { name: string }) => name)]).toEqual([true, ['restart', 'wake']])
})

describe('agent-relay up', () => {
  let up: ChildProcess
  let cwd: string
  let model: ModelServer
  beforeAll(async () => {
    cwd = prefix.directory('empty')
    model = await ModelServer.start(({ agentId }) => ({
      calls: [{ name: 'agent_complete', args: { agent_id: agentId, summary: '42 tests passed' } }],
    }))
    up = await prefix.start('agent-relay', ['up'], cwd, /ready\./, model.env('anthropic'))
  })
  afterAll(async () => {
    expect(await stopped(up)).toBe(0)
    await model.close()
  })

  it('two agents over the pipe, and a message', async () => {
    const [alice, bob] = await Promise.all(
      ['Alice', 'Bob'].map((name) => agent('agent-relay-mcp', ['serve'], cwd, { RELAY_AGENT_NAME: name })),
    )
    try {
      expect(await textOf(alice as Client, 'relay_send', { to: 'Bob', message: 'Can you review PR 12?' })).toContain(
        'Message sent to Bob',
      )
      expect(await textOf(bob as Client, 'relay_inbox', {})).toMatch(/From Alice:\nCan you review PR 12\?/)
    } finally {
      await Promise.all([alice?.close(), bob?.close()])
    }
  })

  it('a run of the built-in loop, against a scripted model', async () => {
    const args = ['runs', 'start', '--contract', 'Run the tests', '--wait', '--as', 'lead']
    expect(await prefix.run('agent-relay', args, cwd)).toContain('42 tests passed')
  })

  it('the page, with its scripts', async () => {
    const { url } = JSON.parse(await prefix.run('agent-relay', ['status', '--json'], cwd))
    const html = await (await fetch(url)).text()
    const script = /src="([^"]+\.js)"/.exec(html)?.[1] ?? 'none'
    const answer = await fetch(new URL(script, url))
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, expect.stringContaining('javascript')])
  })

  it('the SDK, as a program beside it uses it', async () => {
    const program = `import { connectRelay } from '@agent-relay/sdk'
      import { operations } from '@agent-relay/sdk/protocol'
      import { limits } from '@agent-relay/sdk/wire'
      if (!operations['message.send'] || !limits.bodyBytesMax) throw new Error('an entry is empty')
      const relay = await connectRelay({ name: 'program' })
      console.log((await relay.messages.send('Bob', 'hello')).id)
      await relay.close()`
    const archive = readdirSync(prefix.archives).find((name) => name.startsWith('agent-relay-sdk-')) as string
    const args = ['install', '--silent', '--no-audit', '--no-fund', join(prefix.archives, archive)]
    await prefix.run('npm', args, cwd, noRegistry(prefix.root))
    expect(await prefix.run(process.execPath, ['--input-type=module', '-e', program], cwd)).toMatch(/^m_\w+\n$/)
  })
})

describe('the steps of the cloud image', () => {
  it('configure every CLI, name the workspace at run time, and the daemon answers', async () => {
    const cwd = prefix.directory('workspace')
    await prefix.run('agent-relay', ['mcp', 'install', '--editor', 'all', '--yes'], cwd)
    for (const file of ['.claude.json', '.cursor/mcp.json', '.codex/config.toml', '.gemini/settings.json'])
      expect(readFileSync(join(prefix.home, file), 'utf8')).toContain('agent-relay')
    const cloud = { WORKSPACE_NAME: 'frontend', RELAY_DATA_DIR: join(prefix.root, 'cloud') }
    const container = await prefix.start('sh', [deployScript('entrypoint.sh')], cwd, /ready\./, cloud)
    expect(await prefix.run('sh', [deployScript('healthcheck.sh')], cwd, cloud)).toBe('')
    expect(await prefix.run('sh', [deployScript('readycheck.sh')], cwd, cloud)).toBe('')
    // Another workspace is not open in it: healthy, and not ready.
    const other = { ...cloud, WORKSPACE_NAME: 'backend' }
    expect(await prefix.run('sh', [deployScript('healthcheck.sh')], cwd, other)).toBe('')
    await expect(prefix.run('sh', [deployScript('readycheck.sh')], cwd, other)).rejects.toThrow()
    const status = JSON.parse(await prefix.run('agent-relay', ['status', '--json'], cwd, cloud))
    expect(status).toMatchObject({ workspace: 'frontend' })
    // As Claude Code would start it, by what the installer wrote.
    const { mcpServers } = JSON.parse(readFileSync(join(prefix.home, '.claude.json'), 'utf8'))
    const { command, args } = mcpServers['agent-relay']
    const client = await agent(command, args, cwd, cloud)
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('relay_send')
    await client.close()
    expect(await stopped(container)).toBe(0)
  })

  it('is called default without a name, and runs a command beside the relay', async ({ onTestFinished }) => {
    const cwd = prefix.directory('other')
    const env = { RELAY_DATA_DIR: join(prefix.root, 'default') }
    onTestFinished(() => prefix.run('agent-relay', ['daemon', 'stop'], cwd, env).then(() => {}))
    const text = await prefix.run('sh', [deployScript('entrypoint.sh'), 'agent-relay', 'status', '--json'], cwd, env)
    expect(JSON.parse(text)).toMatchObject({ workspace: 'default' })
  })

  it('prints a link for a browser outside, and serves its port there', async ({ onTestFinished }) => {
    const cwd = prefix.directory('outside')
    const env = { RELAY_DATA_DIR: join(prefix.root, 'outside-data'), RELAY_PORT: '0' }
    onTestFinished(() => prefix.run('agent-relay', ['daemon', 'stop'], cwd, env).then(() => {}))
    const entrypoint = [deployScript('entrypoint.sh'), '--page-url', 'http://relay.example:9000']
    const text = await prefix.run('sh', [...entrypoint, 'agent-relay', 'daemon', 'status', '--json'], cwd, env)
    const [link, status = ''] = text.trim().split('\n').slice(-2)
    expect(link).toMatch(/^http:\/\/relay\.example:9000\/w\/default\/\?code=/)
    expect(JSON.parse(status).http.host).toBe('0.0.0.0')
    await expect(prefix.run('sh', entrypoint.slice(0, 2), cwd, env)).rejects.toThrow(/needs an address/)
  })
})
