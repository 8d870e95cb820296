// As whom a command acts and which daemon it reaches: environment, tokens, the key, and what it says when one of them is missing.

import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { World } from './cli-world.ts'

const world = new World()
const notRunning = 'Relay daemon is not running. Start with: agent-relay daemon start\n'

beforeAll(async () => {
  expect((await world.run(['daemon', 'start'])).code).toBe(0)
  expect((await world.run(['inbox', '--as', 'Bob'])).stderr).toContain('Bob is new in app: registered as an agent.')
})
afterAll(() => world.close(), 30_000)

describe('who one is', () => {
  it('takes a token from the environment, for its own agent alone', async () => {
    const { code, stderr } = await world.run(['inbox'], {
      env: { RELAY_AGENT_NAME: 'Bob', RELAY_AGENT_TOKEN: 'at_wrong' },
    })
    expect([code, stderr]).toEqual([77, expect.stringContaining('Not allowed')])
    const unset = { RELAY_AGENT_NAME: '$' + '{RELAY_AGENT_NAME}', RELAY_AGENT_TOKEN: '' }
    expect((await world.json<{ agent?: string }>(['status'], { env: unset })).agent).toBeUndefined()
    const named = await world.json<{ agent?: string }>(['status'], { env: { RELAY_AGENT_NAME: 'Bob' } })
    expect(named.agent).toBe('Bob')
    const other = { RELAY_AGENT_NAME: 'Bob', RELAY_AGENT_TOKEN: 'at_of_bob' }
    expect((await world.json<{ agent?: string }>(['status', '--as', 'Alice'], { env: other })).agent).toBe('Alice')
  })

  it('is nobody human without the key, and says so', async () => {
    const path = join(world.dataDir, 'credentials.json')
    const keys = readFileSync(path)
    expect((await world.run(['inbox'])).code).toBe(0)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    rmSync(path)
    const [person, newcomer, human] = await Promise.all([
      world.run(['inbox']),
      world.run(['status', '--as', 'Newcomer', '--json']),
      world.run(['inbox', '--as', userInfo().username]),
    ])
    expect(person).toMatchObject({ code: 77, stderr: expect.stringContaining('Act as an agent: --as NAME') })
    expect(JSON.parse(newcomer.stdout).agent).toBe('Newcomer')
    expect(human.code).toBe(77)
    writeFileSync(path, 'not json')
    const broken = await world.run(['inbox'])
    expect(broken).toMatchObject({
      code: 78,
      stderr: expect.stringContaining(`${path}: not valid JSON. Nothing was changed`),
    })
    writeFileSync(path, keys)
  })
})

describe('which daemon', () => {
  it('says when none runs, or when the workspace is not open', async () => {
    const nowhere = { RELAY_DATA_DIR: join(world.root, 'nowhere') }
    const cwd = world.directory('elsewhere')
    for (const args of [['who'], ['workspace', 'list']]) {
      expect(await world.run(args, { env: nowhere, cwd })).toEqual({ code: 69, stdout: '', stderr: notRunning })
    }
    const gone = { RELAY_SOCKET: join(world.root, 'gone.sock') }
    expect(await world.run(['who'], { env: gone })).toMatchObject({ code: 69, stderr: notRunning })
    const shut = await world.run(['who', '--project', 'other'])
    expect(shut).toMatchObject({ code: 1, stderr: expect.stringContaining('agent-relay daemon start --project other') })
    expect(existsSync(nowhere.RELAY_DATA_DIR)).toBe(false)
  })

  it('says when the daemon is of another version', async () => {
    const path = join(world.root, 'old.sock')
    const sockets = new Set<Socket>()
    const welcome = { session: 's', workspace: 'old', workspaceId: 'w_old', version: '0.0.9', seq: 0 }
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('data', (data) => {
        const { type, id: asked } = JSON.parse(data.toString().split('\n')[0] as string)
        const answer =
          type === 'HELLO' ? { type: 'WELCOME', payload: welcome } : { type: 'ACK', payload: { agents: [] } }
        socket.write(`${JSON.stringify({ v: 1, ts: 0, id: asked, ...answer })}\n`)
      })
    }).listen(path)
    const { code, stderr } = await world.run(['who'], { env: { RELAY_SOCKET: path } })
    for (const socket of sockets) socket.destroy()
    server.close()
    expect(code).toBe(0)
    expect(stderr).toContain('the daemon runs 0.0.9. To bring them together: agent-relay daemon restart')
  })
})

describe('a broken .relay/config.json', () => {
  it.each(['{bad', '[]', '{"project":"my app"}', '{"project":7}'])(
    '%s is named, and no other workspace is taken for it',
    async (text) => {
      const directory = world.directory('broken')
      mkdirSync(join(directory, '.relay'), { recursive: true })
      writeFileSync(join(directory, '.relay', 'config.json'), text)
      const answer = await world.run(['who'], { cwd: directory })
      expect(answer).toMatchObject({ code: 78, stderr: expect.stringContaining(join('.relay', 'config.json')) })
      expect(readFileSync(join(directory, '.relay', 'config.json'), 'utf8')).toBe(text)
    },
  )
})
