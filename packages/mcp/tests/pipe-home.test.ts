// Agents in unrelated directories, on one machine with no settings but those of `mcp install`: they see and reach each other in the workspace
// `home`, and an agent of a project reaches them by their addresses.

import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { aWhile } from '../../../test/until.ts'
import { daemonLauncher, type Json } from './pipe-world.ts'

const root = realpathSync(mkdtempSync(join(tmpdir(), 'home-')))
const env = { PATH: process.env.PATH ?? '', HOME: root, RELAY_PORT: '0', NODE_EXTRA_CA_CERTS: '' }
const clients: Client[] = []
let entry: { command: string; args: string[] }

const run = (args: string[], cwd: string) =>
  promisify(execFile)(process.execPath, [daemonLauncher, ...args], { cwd, env })

function directory(name: string): string {
  const path = join(root, name)
  mkdirSync(path, { recursive: true })
  return path
}

/** An agent in a terminal of its own, started by the entry in its host's settings. */
async function agentIn(cwd: string, own: Record<string, string> = {}): Promise<Client> {
  const client = new Client({ name: 'claude-code', version: '1' })
  clients.push(client)
  const { PATH, HOME, NODE_EXTRA_CA_CERTS } = env
  await client.connect(new StdioClientTransport({ ...entry, env: { PATH, HOME, NODE_EXTRA_CA_CERTS, ...own }, cwd }))
  return client
}

async function call(client: Client, name: string, args: Record<string, unknown> = {}): Promise<string> {
  const { content } = (await client.callTool({ name, arguments: args })) as Json
  return content[0].text
}

const nameOf = async (client: Client) => /Agent Name: (\S+)/.exec(await call(client, 'relay_status'))?.[1] as string

beforeAll(async () => {
  await run(['daemon', 'start'], directory('shop'))
  await run(['mcp', 'install', '--editor', 'claude', '--no-hooks', '--yes'], root)
  entry = JSON.parse(readFileSync(join(root, '.claude.json'), 'utf8')).mcpServers['agent-relay']
})

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close()
})
afterAll(async () => {
  await run(['daemon', 'stop'], root).catch(() => {})
  rmSync(root, { recursive: true, force: true })
})

test('three terminals in three directories: the agents see and reach each other at once', async () => {
  const agents = await Promise.all(['a', 'b/deep', 'c'].map((name) => agentIn(directory(name))))
  const names = await Promise.all(agents.map(nameOf))
  expect(new Set(names).size).toBe(3)
  for (const agent of agents) {
    const seen = await call(agent, 'relay_who')
    for (const name of names) expect(seen).toContain(`- ${name} (`)
  }
  const [first, second, third] = agents as [Client, Client, Client]
  await call(first, 'relay_send', { to: names[1], message: 'from a to b' })
  expect(await call(second, 'relay_inbox')).toContain('from a to b')

  expect((await run(['who'], join(root, 'shop'))).stderr).toMatch(/\nIn other workspaces: home:.* who --everywhere\n$/)
  // A name of its own: the first of each workspace is named after its program, and at home that may be the third.
  const shop = await agentIn(join(root, 'shop'), { RELAY_AGENT_NAME: 'Shopkeeper' })
  expect(await call(shop, 'relay_status')).toContain('Project: shop')
  const addresses = /^1 agent.*\n.*\nIn other workspaces, by their addresses: (.*)$/.exec(await call(shop, 'relay_who'))
  expect(addresses?.[1]?.split(', ').sort()).toEqual(names.map((name) => `home:${name}`).sort())
  const unknown = await call(shop, 'relay_send', { to: names[2], message: 'x' })
  expect(unknown).toContain(`${names[2]} is in home: send to "home:${names[2]}".`)
  await call(shop, 'relay_send', { to: `home:${names[2]}`, message: 'from the shop' })
  expect(await call(third, 'relay_inbox')).toContain('from the shop')
})

test('a session that starts in the first moments of a daemon waits for the workspace of its directory', async () => {
  const cwd = directory('new')
  const socket = join(root, '.local/share/agent-relay/projects/home/daemon.sock')
  // `home` stays young until the directory is marked, as `up` does it.
  const young = setInterval(() => utimesSync(socket, new Date(), new Date()), 20)
  try {
    const agent = agentIn(cwd)
    await aWhile()
    mkdirSync(join(cwd, '.relay'))
    writeFileSync(join(cwd, '.relay/config.json'), '{"project": "shop"}')
    expect(await call(await agent, 'relay_status')).toContain('Project: shop')
  } finally {
    clearInterval(young)
  }
})

test('entries of install --start, begun at the same instant, start one daemon: its socket alone, for as long as somebody is there', async () => {
  const status = async () => JSON.parse((await run(['daemon', 'status', '--json'], root)).stdout)
  const begun = () =>
    [...readFileSync(join(root, '.local/share/agent-relay/daemon.log'), 'utf8').matchAll(/ runs, pid (\d+)/g)].map(
      ([, pid]) => Number(pid),
    )
  await run(['daemon', 'stop'], root)
  const former = begun().length
  await run(['mcp', 'install', '--start', '--editor', 'claude', '--no-hooks', '--yes'], root)
  entry = JSON.parse(readFileSync(join(root, '.claude.json'), 'utf8')).mcpServers['agent-relay']
  expect(entry.args).toEqual(['serve', '--start'])
  // What one session was told is not for the daemon of all: with this port none would start.
  const own = { RELAY_AGENT_NAME: 'Ann', RELAY_PORT: 'none' }
  const [ann, bob, shop] = (await Promise.all([
    agentIn(directory('d'), own),
    agentIn(directory('e')),
    agentIn(join(root, 'shop')),
  ])) as [Client, Client, Client]
  expect(await call(ann, 'relay_status')).toContain('Project: home')
  expect(await call(shop, 'relay_status')).toContain('Project: shop')
  expect(await call(bob, 'relay_who')).toContain('- Ann (')
  const { pid, endsUnattended, http } = await status()
  expect([endsUnattended, http]).toEqual([true, undefined])
  expect(begun().slice(former)).toEqual([pid])
  for (const command of ['start', 'status'])
    expect((await run(['daemon', command], directory('shop'))).stderr).toMatch(
      /it ends ten minutes after the last one. To keep it: (?:\S+|'.+') daemon restart/,
    )
})
