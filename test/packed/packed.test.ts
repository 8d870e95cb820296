// The packed packages in an empty directory with no repository near: they install, they are small, agents talk, and the cloud image's steps work.

import type { ChildProcess } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ModelServer } from '../bench/model-server.ts'
import { deployScript, Prefix, sizeOf, stopped } from './prefix.ts'

const installedMbMax = 60

let prefix: Prefix
beforeAll(async () => {
  prefix = await Prefix.install()
}, 180_000)
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
  it(`is smaller than ${installedMbMax} MB`, () => {
    const parts = readdirSync(prefix.modules)
      .map((name) => [name, Math.round(sizeOf(join(prefix.modules, name)) / 1e6)] as const)
      .sort(([, a], [, b]) => b - a)
    // The README tells it.
    process.stdout.write(`installed: ${(prefix.size / 1e6).toFixed(1)} MB\n`)
    expect(prefix.size / 1e6, `the largest: ${parts.slice(0, 5).join(' MB; ')} MB`).toBeLessThan(installedMbMax)
  })

  it('has what was packed, and neither sources nor maps', () => {
    for (const name of ['agent-relay', '@agent-relay/mcp', '@agent-relay/sdk']) {
      const files = readdirSync(join(prefix.modules, name), { recursive: true, encoding: 'utf8' })
      expect(files.filter((file) => /\.map$|tsbuildinfo|(^|\/)(src|tests)\//.test(file))).toEqual([])
      expect(files).toContain('README.md')
      expect(files).toContain('LICENSE')
    }
  })

  it('has the libraries of the runs in it, with their licences', () => {
    expect(existsSync(join(prefix.modules, 'ai'))).toBe(false)
    const licenses = readFileSync(join(prefix.modules, 'agent-relay/dist/runs/kit.licenses.txt'), 'utf8')
    expect(licenses).toMatch(/^ai [\d.]+: Apache-2\.0$/m)
  })
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
  }, 30_000)
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
      expect(await textOf(bob as Client, 'relay_inbox', {})).toMatch(/From Alice:\n\s+Can you review PR 12\?/)
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
    const program = `import { connectRelay } from '${join(prefix.modules, '@agent-relay/sdk/dist/index.js')}'
      const relay = await connectRelay({ name: 'program' })
      console.log((await relay.messages.send('Bob', 'hello')).id)
      await relay.close()`
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
    const status = JSON.parse(await prefix.run('agent-relay', ['status', '--json'], cwd, cloud))
    expect(status).toMatchObject({ workspace: 'frontend' })
    // As Claude Code would start it, by what the installer wrote.
    const { mcpServers } = JSON.parse(readFileSync(join(prefix.home, '.claude.json'), 'utf8'))
    const { command, args } = mcpServers['agent-relay']
    const client = await agent(command, args, cwd, cloud)
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('relay_send')
    await client.close()
    expect(await stopped(container)).toBe(0)
  }, 60_000)

  it('is called default without a name, and runs a command beside the relay', async () => {
    const cwd = prefix.directory('other')
    const env = { RELAY_DATA_DIR: join(prefix.root, 'default') }
    const text = await prefix.run('sh', [deployScript('entrypoint.sh'), 'agent-relay', 'status', '--json'], cwd, env)
    expect(JSON.parse(text)).toMatchObject({ workspace: 'default' })
    await prefix.run('agent-relay', ['daemon', 'stop'], cwd, env)
  }, 60_000)
})
