// The agent and the daemon of a command: environment, tokens, the key, and the message when one of them is missing.

import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { RelayClient } from '@agent-relay/sdk'
import type { OutputOf } from '@agent-relay/sdk/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { World } from './cli-world.ts'

const world = new World()
type Workspaces = OutputOf<'workspace.list'>
const notRunning = 'Relay daemon is not running. Start with: agent-relay daemon start\n'

beforeAll(async () => {
  await world.serve()
  expect((await world.run(['inbox', '--as', 'Bob'])).stderr).toContain('Bob is new in app: registered as an agent.')
})
afterAll(() => world.close())

describe('which agent a command acts as', () => {
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

  it('cannot act as a person without the key, and says so', async () => {
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

async function registered(name: string) {
  const client = new RelayClient({
    agentName: name,
    socketPath: join(world.dataDir, 'projects/app/daemon.sock'),
    autoConnect: false,
  })
  const welcome = await client.connect()
  await client.disconnect()
  return welcome
}

/** A data directory whose one socket leads to that of workspace app. Returns how many connections each command makes to it. */
async function withDoor(work: (dataDir: string, connections: () => number) => Promise<void>) {
  const dataDir = join(world.root, 'door')
  mkdirSync(join(dataDir, 'projects/app'), { recursive: true, mode: 0o700 })
  const made: Socket[] = []
  const server = createServer((socket) => {
    made.push(socket)
    const beyond = connect(join(world.dataDir, 'projects/app/daemon.sock'))
    for (const [one, other] of [[socket, beyond] as const, [beyond, socket] as const]) {
      one.on('error', () => {}).on('close', () => other.destroy())
      one.pipe(other)
    }
  }).listen(join(dataDir, 'projects/app/daemon.sock'))
  await once(server, 'listening')
  await work(dataDir, () => made.splice(0).length)
  server.close()
}

describe('how often a command connects', () => {
  it('once, if the file of keys or a token says who calls; a file that is wrong is found out', async () => {
    const keys = readFileSync(join(world.dataDir, 'credentials.json'), 'utf8')
    const { token = '' } = await registered('Carol')
    await withDoor(async (dataDir, connections) => {
      const env = { RELAY_DATA_DIR: dataDir }
      const write = (text: string) => writeFileSync(join(dataDir, 'credentials.json'), text, { mode: 0o600 })
      write(keys.replaceAll(world.dataDir, dataDir))
      expect(await world.run(['inbox', '--project', 'app'], { env })).toMatchObject({ code: 0 })
      expect(connections()).toBe(1)
      // As after a restored file of another workspace that had the name.
      const other = keys.replaceAll(world.dataDir, dataDir).replaceAll(/"w_\w+"/g, '"w_01aaaaaaaaaaaaaaaaaaaaaaaaaa"')
      write(other)
      expect(await world.run(['inbox', '--project', 'app'], { env })).toMatchObject({ code: 77, stdout: '' })
      expect(connections()).toBe(2)
      write(other.replaceAll(/rk_[\w-]+/g, 'rk_wrong'))
      expect(await world.run(['inbox', '--project', 'app', '--as', 'Bob'], { env })).toMatchObject({ code: 0 })
      expect(connections()).toBe(3)
      write('{"workspaces":{}}')
      expect(await world.run(['who', '--project', 'app'], { env })).toMatchObject({ code: 0 })
      expect(connections()).toBe(2)
      const asCarol = { ...env, RELAY_AGENT_NAME: 'Carol', RELAY_AGENT_TOKEN: token }
      expect((await world.json(['status', '--project', 'app'], { env: asCarol })).agent).toBe('Carol')
      expect(connections()).toBe(1)
    })
  })
})

describe('which daemon a command talks to', () => {
  it('says when none runs, or when the workspace is not open', async () => {
    const nowhere = { RELAY_DATA_DIR: join(world.root, 'nowhere') }
    const cwd = world.directory('elsewhere')
    for (const args of [['who'], ['workspace', 'list']]) {
      expect(await world.run(args, { env: nowhere, cwd })).toEqual({ code: 69, stdout: '', stderr: notRunning })
    }
    const gone = { RELAY_SOCKET: join(world.root, 'gone.sock') }
    expect(await world.run(['who'], { env: gone })).toMatchObject({
      code: 69,
      stderr:
        `Relay daemon is not running at ${gone.RELAY_SOCKET}, which RELAY_SOCKET names: nothing listens there. ` +
        `Another one runs, with workspace app at ${world.dataDir}/projects/app/daemon.sock: unset RELAY_SOCKET to use it.\n`,
    })
    const typo = await world.run(['who', '--project', 'apq'])
    expect(typo).toMatchObject({
      code: 1,
      stderr:
        'No workspace "apq" is open here. Did you mean app? To list all: agent-relay workspace list. ' +
        'To make it: agent-relay workspace create apq\n',
    })
    await world.run(['workspace', 'create', 'shut'])
    await world.run(['inbox', '--as', 'Maya', '--project', 'shut'])
    const everywhere = await world.run(['who', '--everywhere', '--all'])
    expect(everywhere.stdout).toMatch(/^shut:Maya +agent/m)
    const now = await world.run(['who', '--everywhere'])
    expect(now.stderr).toMatch(/^(Nobody is connected\. )?Those who are away: agent-relay who --everywhere --all\n$/)
    expect(await world.run(['workspace', 'close', 'shut'])).toMatchObject({
      code: 0,
      stderr: 'Workspace shut is closed. To open it again: agent-relay workspace open shut\n',
    })
    expect((await world.run(['workspace', 'close', 'shut'])).stderr).toContain('Workspace "shut" is not open')
    expect((await world.run(['workspace', 'list'])).stdout).toMatch(/^shut +not open +nobody has opened it/m)
    expect(await world.run(['who', '--project', 'shut'])).toMatchObject({
      code: 1,
      stderr: 'Workspace "shut" is not open. To open it: agent-relay workspace open shut\n',
    })
    expect((await world.run(['workspace', 'open', 'shut'])).code).toBe(0)
    expect((await world.run(['who', '--all', '--project', 'shut'])).stdout).toMatch(/^Maya /m)
    expect(existsSync(nowhere.RELAY_DATA_DIR)).toBe(false)
  })

  it('never takes a project for the workspace home, nor the home directory for a project', async () => {
    for (const name of ['home', 'Home']) {
      const cwd = world.directory(`work/${name}`)
      expect((await world.run(['daemon', 'start'], { cwd })).code).toBe(0)
      const { project } = JSON.parse(readFileSync(join(cwd, '.relay/config.json'), 'utf8'))
      expect(project).toMatch(new RegExp(`^${name}-[0-9a-z]+$`))
    }
    const cwd = join(world.root, 'home')
    const link = join(world.root, 'link')
    symlinkSync(cwd, link)
    for (const HOME of [cwd, `${cwd}/`, link])
      expect((await world.run(['daemon', 'start'], { cwd, env: { HOME } })).code).toBe(0)
    const named = await world.run(['daemon', 'start', '--project', 'shop'], { cwd, env: { HOME: cwd } })
    expect(named.stderr).toContain('This directory is not marked as shop. Use it with: --project shop\n')
    expect(existsSync(join(cwd, '.relay'))).toBe(false)
    const { workspaces } = await world.json<Workspaces>(['workspace', 'list'])
    expect(workspaces.find(({ name }) => name === 'home')).not.toHaveProperty('directory')
    expect(workspaces.filter(({ directory }) => directory === cwd)).toEqual([])
  })

  it('removes what is in the workspace home, which is there again at once', async () => {
    const home = async () => {
      const { workspaces } = await world.json<Workspaces>(['workspace', 'list'])
      return workspaces.find(({ name }) => name === 'home')
    }
    await world.run(['daemon', 'start', '--project', 'home'])
    const before = await home()
    expect((await world.run(['workspace', 'remove', 'home', '--force', '--yes'])).stderr).toBe(
      'Workspace home is removed, with its messages and its key. A new, empty one is open: agents outside a project meet there.\n',
    )
    expect(await home()).toMatchObject({ open: true })
    expect((await home())?.id).not.toBe(before?.id)
  })

  it('makes no workspace of a name that was mistyped', async () => {
    const before = readdirSync(join(world.dataDir, 'projects'))
    const commands = [
      ['dashboard'],
      ['who'],
      ['status'],
      ['workspace', 'key'],
      ['workspace', 'key', '--rotate'],
      ['tail'],
    ]
    for (const command of commands) {
      expect((await world.run([...command, '--project', 'nope'])).code).toBe(1)
      expect((await world.run(command, { env: { RELAY_PROJECT: 'nope' } })).code).toBe(1)
    }
    for (const command of ['open', 'close', 'remove'])
      expect((await world.run(['workspace', command, 'nope', ...(command === 'remove' ? ['--yes'] : [])])).code).toBe(1)
    expect(readdirSync(join(world.dataDir, 'projects'))).toEqual(before)
    expect((await world.run(['daemon', 'start', '--project', 'nope'])).stderr).toContain('made workspace nope.')
    expect((await world.run(['daemon', 'start', '--project', 'nope'])).stderr).not.toContain('made')
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
    expect(stderr).toContain('the daemon runs 0.0.9. To update it: agent-relay daemon upgrade')
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
