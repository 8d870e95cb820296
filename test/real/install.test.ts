// The installer and the real CLIs: they list the entries of `install`, Claude Code calls a tool through one, and the hooks run in their turns.

import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { RelayClient } from '@agent-relay/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { guardMs } from '../guard.ts'
import { type Cli, clis, hosts } from './clis.ts'
import { type Asked, startFakeModel } from './fake-model.mjs'
import { install } from './installing.ts'
import { daemonLauncher, pipeLauncher } from './world.ts'

const root = realpathSync(mkdtempSync(join(tmpdir(), 'real-install-')))
const dataDir = join(root, 'data')
const socketPath = join(dataDir, 'projects/play/daemon.sock')
/** A CLI that has not ended by then will not. */
const runMs = 2 * guardMs

const own = (name: string, npmPackage: string, variables: Record<string, string>): Cli => ({
  name,
  npmPackage,
  prepare: () => variables,
})
/** These two list what they would start, and start nothing for it. */
const signs: Record<string, RegExp> = { codex: /agent-relay.*enabled/, copilot: /agent-relay \(local\)/ }
const listed: { cli: Cli; sign: RegExp }[] = [
  ...clis.map((cli) => ({ cli, sign: signs[cli.name] ?? /agent-relay[^\n]*connected/i })),
  { cli: own('qwen', '@qwen-code/qwen-code@0.15.10', { OPENAI_API_KEY: 'x' }), sign: /agent-relay[^\n]*connected/i },
]

const asked: Asked[] = []
let model: Awaited<ReturnType<typeof startFakeModel>>
let peer: RelayClient
let homes = 0

beforeAll(async () => {
  model = await startFakeModel((each) => asked.push(each))
  execFileSync(process.execPath, [daemonLauncher, 'daemon', 'start', '--project', 'play'], {
    env: env(root),
    cwd: root,
    stdio: 'ignore',
  })
  peer = new RelayClient({ agentName: 'Peer', socketPath })
  await peer.connect()
})
afterAll(async () => {
  await peer?.disconnect()
  execFileSync(process.execPath, [daemonLauncher, 'daemon', 'stop'], { env: env(root), cwd: root, stdio: 'ignore' })
  model?.close()
  rmSync(root, { recursive: true, force: true })
})

/** Nothing of the owner's: `env -i`. */
function env(home: string, folder = ''): Record<string, string> {
  const path = [...(folder === '' ? [] : [folder]), dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin']
  return {
    HOME: home,
    LANG: 'C.UTF-8',
    TERM: 'xterm-256color',
    PATH: path.join(':'),
    RELAY_DATA_DIR: dataDir,
    RELAY_PROJECT: 'play',
    RELAY_PORT: '0',
  }
}

interface Standing {
  run(args: string[], more?: Record<string, string>): Promise<string>
}

/** A fresh home with one CLI in it, and our server in the CLI's configuration. */
async function standing(cli: Cli, skip: (why: string) => never, ...flags: string[]): Promise<Standing> {
  const found = install(cli)
  if ('reason' in found) return skip(found.reason)
  const [home, work] = ['home', 'work'].map((name) => join(root, `${name}${homes++}`)) as [string, string]
  for (const path of [home, work]) mkdirSync(path)
  execFileSync('git', ['init', '-q'], { cwd: work })
  const variables = { ...env(home, found.folder), ...cli.prepare({ home, work, modelUrl: model.url }) }
  if (cli.name === 'gemini') Object.assign(variables, { GEMINI_CLI_TRUST_WORKSPACE: 'true' })
  execFileSync(process.execPath, [pipeLauncher, 'install', '-e', cli.name, ...flags], { env: variables, cwd: work })
  return { run: (args, more) => run(join(found.folder, cli.name), args, { ...variables, ...more }, work) }
}

/** Both streams: some print their lists on stderr. */
function run(program: string, args: string[], env: Record<string, string>, cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] })
    const late = setTimeout(() => child.kill('SIGKILL') && reject(new Error(`${program} did not end`)), runMs)
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
    child.once('close', () => {
      clearTimeout(late)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: colours.
      resolve(text.replace(/\u001b\[[\d;]*m/g, ''))
    })
  })
}

describe('after install, the server is in the list of', () => {
  for (const { cli, sign } of listed) {
    test(cli.name, async ({ skip }) => {
      const { run } = await standing(cli, skip)
      expect(await run(['mcp', 'list'])).toMatch(sign)
    })
  }
})

const headless: Record<string, string[]> = {
  claude: ['-p', '--allowedTools', 'mcp__agent-relay__*', '--'],
  codex: ['exec', '--skip-git-repo-check', '--dangerously-bypass-hook-trust'],
  gemini: ['--skip-trust', '-p'],
  copilot: ['-s', '-p'],
}

test('Claude Code calls relay_who through it', async ({ skip }) => {
  const { run } = await standing(clis.find(({ name }) => name === 'claude') as Cli, skip)
  const from = asked.length
  const text = await run([...(headless.claude ?? []), 'use relay_who {}'])
  const said = asked.slice(from).map((each) => each.said?.tool?.name)
  expect([text, said]).toEqual([
    expect.stringContaining('FINAL'),
    expect.arrayContaining(['mcp__agent-relay__relay_who']),
  ])
})

describe('with --hooks a message that waits is handed over in the turn of', () => {
  for (const name of Object.keys(headless)) {
    test(name, async ({ skip }) => {
      const { run } = await standing(hosts.find((cli) => cli.name === name) as Cli, skip, '--hooks')
      const agentName = `Hooked-${name}`
      const agent = new RelayClient({ agentName, socketPath, autoConnect: false })
      const { token = '' } = await agent.connect()
      await agent.disconnect()
      const { id } = await peer.send(agentName, 'Is it you?')
      const from = asked.length
      const text = await run([...(headless[name] ?? []), 'say hello'], {
        RELAY_AGENT_NAME: agentName,
        RELAY_AGENT_TOKEN: token,
      })
      const { receipts } = await peer.call('message.receipts', { message: id })
      expect([receipts[0]?.route, text]).toEqual(['hook', expect.any(String)])
      // What counts is what the model was asked, once in its whole conversation.
      const told = asked.slice(from).map(({ body }) => JSON.stringify(body ?? '').split(`[${id}]`).length - 1)
      expect(Math.max(...told)).toBe(1)
    })
  }
})
