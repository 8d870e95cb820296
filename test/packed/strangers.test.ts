// No program of ours asks for the packages that another project has under our names. All of it runs in a network namespace in which every name
// leads to a server that records: the documented commands, the entries and hooks that install writes, the archives, the checkout.

import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readEntry } from '../../packages/mcp/src/careful/index.ts'
import { editors, entryCommand, installContext } from '../../packages/mcp/src/install/index.ts'
import { Namespace, type Ran } from './namespace.ts'

const checkout = fileURLToPath(new URL('../../', import.meta.url))
/** Put together here, so that the test that scans this repository for such commands needs no exception. */
const name = ['agent', 'relay'].join('-')
const asksForUs = (record: string) => new RegExp(`^(?:http|tls) .*${name}`).test(record)

const opened = await Namespace.open()
if (typeof opened === 'string')
  process.stdout.write(`SKIPPED: the network namespace cannot be made here (${opened}). It takes root.\n`)

describe.skipIf(typeof opened === 'string')('in a network where every name leads to a recorder', () => {
  const network = opened as Namespace
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'strangers-')))
  const at = (...parts: string[]) => {
    const path = join(root, ...parts)
    mkdirSync(path, { recursive: true })
    return path
  }
  const env = {
    PATH: `${join(root, 'prefix/bin')}:${process.env.PATH}`,
    HOME: at('home'),
    TMPDIR: at('tmp'),
    RELAY_PORT: '0',
    // Plain HTTP, so that the recorder sees what is asked for, and nothing from a cache.
    npm_config_registry: `http://registry.example/`,
    npm_config_cache: at('npm-cache'),
    npm_config_fetch_retries: '0',
  }
  const archives = at('archives')
  const run = (command: string, args: string[], cwd: string, input?: string): Promise<Ran> =>
    network.run(command, args, cwd, env, input)
  const archive = (start: RegExp) => join(archives, readdirSync(archives).find((file) => start.test(file)) as string)
  const around = () => installContext(env, at('app'))

  beforeAll(() => {
    execFileSync('npm', ['run', 'pack', '--', archives], { cwd: checkout, stdio: 'ignore' })
  })
  afterAll(async () => {
    await run('agent-relay', ['daemon', 'stop'], at('app'))
    network.close()
    rmSync(root, { recursive: true, force: true })
  })

  it('the recorder hears what a stranger would be asked', async () => {
    await run('npx', ['--yes', name, 'up'], at('elsewhere'))
    expect((await network.asked()).filter(asksForUs)).not.toEqual([])
    await run('npm', ['install', `@${name}/sdk`], at('elsewhere'))
    expect((await network.asked()).filter(asksForUs)).not.toEqual([])
  })

  it('the archives install, and nothing is asked at all', async () => {
    const whole = ['install', '-g', '--prefix', at('prefix'), archive(/^agent-relay-\d/)]
    expect(await run('npm', whole, at('app'))).toMatchObject({ code: 0 })
    expect(await network.asked()).toEqual([])
    const sdk = ['install', '--no-audit', archive(/^agent-relay-sdk-/)]
    expect(await run('npm', sdk, at('program'))).toMatchObject({ code: 0 })
    expect(await network.asked()).toEqual([])
  })

  it('the documented commands', async () => {
    const app = at('app')
    const lines = [
      ['daemon', 'start'],
      ['demo'],
      ['inbox', '--as', 'Bob'],
      ['send', 'Bob', 'hello', '--as', 'Alice'],
      ['who'],
      ['status'],
      ['mcp', 'install', '--editor', 'all', '--hooks'],
      ['mcp', 'install', '--editor', 'cursor,claude', '--project'],
      ['doctor'],
      ['help'],
      ['daemon', 'install-service', '--dry-run'],
      ['completion', 'bash'],
    ]
    for (const args of lines) expect([args, await run('agent-relay', args, app)]).toMatchObject([args, { code: 0 }])
    expect(await network.asked()).toEqual([])
  })

  it('the entries that install writes, and its hooks', async () => {
    const commands = editors.flatMap((editor) => {
      const entry = readEntry(editor.userFile(around()), editor.keyPath, 'agent-relay')
      return entry === undefined ? [] : [entryCommand(entry)]
    })
    expect(commands).toHaveLength(editors.length)
    const hello = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: introduction })}\n`
    for (const [command = '', ...args] of commands) {
      const { code, stdout } = await run(command, args, at('app'), hello)
      expect([code, stdout]).toEqual([0, expect.stringContaining('"serverInfo"')])
    }
    const settings = readFileSync(join(env.HOME, '.claude/settings.json'), 'utf8')
    const hooks = [...settings.matchAll(/"command": "([^"]+)"/g)].map(([, line]) => line as string)
    expect(hooks.length).toBeGreaterThan(5)
    for (const line of hooks) expect((await run('sh', ['-c', line], at('app'))).code).toBe(0)
    expect(await network.asked()).toEqual([])
  })

  it('the plugin', async () => {
    const { mcpServers } = JSON.parse(readFileSync(join(checkout, '.claude-plugin/plugin.json'), 'utf8'))
    const { command, args } = mcpServers['agent-relay']
    // biome-ignore lint/suspicious/noTemplateCurlyInString: Claude Code fills it in.
    const filled = (args as string[]).map((arg) => arg.replace('${CLAUDE_PLUGIN_ROOT}', checkout))
    expect((await run(command, [...filled, '--help'], at('app'))).stdout).toContain('Usage:')
    renameSync(join(root, 'home/.local'), join(root, 'home/.away'))
    const missing = await run(command, filled, at('app'))
    renameSync(join(root, 'home/.away'), join(root, 'home/.local'))
    expect([missing.code, missing.stderr]).toEqual([78, expect.stringContaining('has not run on this machine yet')])
    expect(await network.asked()).toEqual([])
  })

  it('the launcher, when what it starts is gone, and the command that it names', async () => {
    const launcher = join(env.HOME, '.local/share/agent-relay/bin/agent-relay-mcp')
    renameSync(join(root, 'prefix/lib'), join(root, 'prefix/gone'))
    const { code, stderr } = await run(launcher, ['serve'], at('app'))
    renameSync(join(root, 'prefix/gone'), join(root, 'prefix/lib'))
    expect([code, stderr]).toEqual([78, expect.stringMatching(/^ERROR: \S+agent-relay-mcp\.cjs is missing\.\n/)])
    expect(await network.asked()).toEqual([])
  })

  it('the checkout: its command, npx, and what setup asks npm for', async () => {
    for (const command of ['agent-relay', 'agent-relay-mcp'])
      for (const folder of [checkout, join(checkout, 'packages/relay')])
        expect((await run('npx', ['--no', '--', command, '--help'], folder)).stdout).toContain('Usage:')
    expect((await run('./agent-relay', ['--help'], checkout)).stdout).toContain('Usage:')
    expect((await network.asked()).filter((record) => !/ registry\.example\/npm |^dns /.test(record))).toEqual([])
    const clone = at('clone')
    const { workspaces } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'))
    const files = ['package.json', ...(workspaces as string[]).map((folder) => `${folder}/package.json`)]
    for (const file of [...files, 'package-lock.json', '.npmrc']) {
      mkdirSync(dirname(join(clone, file)), { recursive: true })
      copyFileSync(join(checkout, file), join(clone, file))
    }
    const flags = ['--ignore-scripts', '--include=dev', '--no-audit', '--no-fund']
    for (const verb of ['ci', 'install']) {
      // It cannot succeed: the recorder has no package. What it asked for is what counts.
      await run('npm', [verb, ...flags], clone)
      const asked = await network.asked()
      expect(asked.filter((record) => record.startsWith('http'))).not.toEqual([])
      expect(asked.filter(asksForUs)).toEqual([])
    }
  })
})

const introduction = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
