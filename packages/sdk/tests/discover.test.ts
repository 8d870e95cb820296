import { spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { delimiter, dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  controlSocketPath,
  credentialsPath,
  dataDir,
  discoverSocket,
  type Env,
  findDaemon,
  findProjectConfig,
  programFolders,
  projectDir,
  socketPathOf,
} from '../src/internal/discover.ts'
import { type Scratch, scratch } from './peer.ts'

let place: Scratch
let servers: Server[]
let data: string
let cwd: string
let env: Env

beforeEach(() => {
  place = scratch()
  servers = []
  data = join(place.directory, 'data')
  cwd = join(place.directory, 'code')
  mkdirSync(cwd)
  env = { HOME: join(place.directory, 'home'), RELAY_DATA_DIR: data }
})
afterEach(async () => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  place.remove()
})

async function live(path: string): Promise<string> {
  mkdirSync(dirname(path), { recursive: true })
  const server = createServer((socket) => socket.on('error', () => {}).end())
  await new Promise<void>((resolve) => server.listen(path, resolve))
  servers.push(server)
  return path
}

/** A real one, as kill -9 leaves it. */
function dead(...paths: string[]): void {
  for (const path of paths) mkdirSync(dirname(path), { recursive: true })
  const script = `let n = 0; const paths = ${JSON.stringify(paths)};
    for (const path of paths) require('net').createServer().listen(path, () => { if (++n === paths.length) process.kill(process.pid, 'SIGKILL') })`
  spawnSync(process.execPath, ['-e', script])
  for (const path of paths) expect(existsSync(path)).toBe(true)
}

function configure(directory: string, config: unknown): void {
  mkdirSync(join(directory, '.relay'), { recursive: true })
  writeFileSync(join(directory, '.relay', 'config.json'), typeof config === 'string' ? config : JSON.stringify(config))
}

const socketOf = (project: string): string => socketPathOf(data, project, env)

describe('discoverSocket', () => {
  it('looks at the environment and the working directory of its process, unless it is given others', async () => {
    for (const name of ['RELAY_SOCKET', 'RELAY_PROJECT']) vi.stubEnv(name, undefined)
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
    vi.spyOn(process, 'cwd').mockReturnValue(cwd)
    expect(discoverSocket()).toBeNull()
    const socketPath = await live(socketOf('shop'))
    configure(cwd, { project: 'shop' })
    expect(discoverSocket()).toEqual({ socketPath, project: 'shop', source: 'cwd' })
    vi.stubEnv('RELAY_PROJECT', 'shop')
    expect(discoverSocket()).toEqual({ socketPath, project: 'shop', source: 'env' })
    vi.stubEnv('RELAY_SOCKET', await live(join(place.directory, 'a.sock')))
    expect(discoverSocket()?.socketPath).toBe(join(place.directory, 'a.sock'))
  })

  it('takes RELAY_SOCKET, labelled with RELAY_PROJECT', async () => {
    const socketPath = await live(join(place.directory, 'a.sock'))
    env.RELAY_SOCKET = socketPath
    expect(discoverSocket({ cwd, env })).toEqual({ socketPath, project: 'unknown', source: 'env' })
    env.RELAY_PROJECT = 'shop'
    expect(discoverSocket({ cwd, env })).toEqual({ socketPath, project: 'shop', source: 'env' })
    env.RELAY_PROJECT = '../shop'
    expect(discoverSocket({ cwd, env })?.project).toBe('unknown')
  })

  it('takes RELAY_PROJECT from the data directory, before the directory it works in', async () => {
    const socketPath = await live(socketOf('shop'))
    await live(socketOf('other'))
    configure(cwd, { project: 'other' })
    env.RELAY_PROJECT = 'shop'
    expect(discoverSocket({ cwd, env })).toEqual({ socketPath, project: 'shop', source: 'env' })
  })

  it('never goes to another workspace when a variable leads nowhere', async () => {
    await live(socketOf('other'))
    configure(cwd, { project: 'other' })
    for (const variables of [{ RELAY_SOCKET: join(data, 'none.sock') }, { RELAY_PROJECT: 'none' }]) {
      expect(discoverSocket({ cwd, env: { ...env, ...variables } })).toBeNull()
      await expect(findDaemon({ cwd, env: { ...env, ...variables } })).rejects.toThrow('Relay daemon is not running')
    }
  })

  it.each(['../other', 'a/b', '..', '/etc', '-x', '', 'a'.repeat(65)])(
    'refuses the project name %j',
    async (project) => {
      await live(socketOf('other'))
      expect(discoverSocket({ cwd, env, project })).toBeNull()
      if (project !== '') expect(discoverSocket({ cwd, env: { ...env, RELAY_PROJECT: project } })).toBeNull()
    },
  )

  it.each(['', '  ', `\${RELAY_SOCKET}`, `\${RELAY_SOCKET:-}`, '$RELAY_SOCKET'])(
    'takes the value %j as not set',
    async (value) => {
      const socketPath = await live(socketOf('shop'))
      const found = discoverSocket({ cwd, env: { ...env, RELAY_SOCKET: value, RELAY_PROJECT: value } })
      expect(found).toEqual({ socketPath, project: 'shop', source: 'scan' })
    },
  )

  it('puts a project named outright before every variable', async () => {
    const socketPath = await live(socketOf('shop'))
    env.RELAY_SOCKET = await live(join(place.directory, 'a.sock'))
    expect(discoverSocket({ cwd, env, project: 'shop' })).toEqual({ socketPath, project: 'shop', source: 'env' })
  })

  it('reads .relay/config.json of the working directory and of its parents, the nearest first', async () => {
    const socketPath = await live(join(place.directory, 'a.sock'))
    const deep = join(cwd, 'src', 'deep')
    mkdirSync(deep, { recursive: true })
    configure(place.directory, { project: 'outer' })
    configure(cwd, { project: 'shop', socketPath })
    expect(discoverSocket({ cwd, env })).toEqual({ socketPath, project: 'shop', source: 'cwd' })
    expect(discoverSocket({ cwd: deep, env })).toEqual({ socketPath, project: 'shop', source: 'cwd' })
    configure(deep, {})
    expect(discoverSocket({ cwd: deep, env })?.project).toBe('shop')
    configure(cwd, { socketPath: '../a.sock' })
    expect(discoverSocket({ cwd: deep, env })).toEqual({ socketPath, project: 'local', source: 'cwd' })
  })

  it('uses the name of the workspace if the configured socketPath does not exist', async () => {
    const socketPath = await live(socketOf('shop'))
    configure(cwd, { project: 'shop', socketPath: join(place.directory, 'moved.sock') })
    expect(discoverSocket({ cwd, env })).toEqual({ socketPath, project: 'shop', source: 'cwd' })
  })

  it('does not scan for another workspace when the directory names one that is not running', async () => {
    await live(socketOf('other'))
    configure(cwd, { project: 'shop' })
    expect(discoverSocket({ cwd, env })).toBeNull()
    await expect(findDaemon({ cwd, env })).rejects.toThrow('Relay daemon is not running')
  })

  it.each(['[]', 'null', '{"project": 7}', '{"project": "my app"}', '{"project": "../up"}', '', '{ broken'])(
    'refuses the config %j and takes no other workspace for it',
    async (text) => {
      await live(socketOf('only'))
      configure(place.directory, { project: 'only' })
      configure(cwd, text)
      const file = join(cwd, '.relay', 'config.json')
      const refused = { code: 'config.invalid', message: expect.stringContaining(file), details: { path: file } }
      await expect(findDaemon({ cwd, env })).rejects.toMatchObject(refused)
      expect(() => discoverSocket({ cwd, env })).toThrow(file)
      const socketPath = socketOf('only')
      expect(discoverSocket({ cwd, env, project: 'only' })).toEqual({ socketPath, project: 'only', source: 'env' })
    },
  )

  it.each([129, 100_000])('refuses a config that nests %d levels deep', async (depth) => {
    configure(cwd, `{"project": "only", "other": ${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`)
    const why = 'nested deeper than 128 levels'
    const refused = { code: 'config.invalid', message: expect.stringContaining(`config.json: ${why}. Nothing was`) }
    await expect(findDaemon({ cwd, env })).rejects.toMatchObject({ ...refused, details: { why } })
    configure(cwd, `{"project": "only", "other": ${'['.repeat(127)}${']'.repeat(127)}}`)
    expect(findProjectConfig(cwd)).toMatchObject({ project: 'only' })
  })

  it('says what a workspace name is', async () => {
    configure(cwd, { project: 'my app' })
    await expect(findDaemon({ cwd, env })).rejects.toThrow('"project" is not a workspace name: 1 to 64 letters, digits')
  })

  it('answers null if there is no socket at all, and in a deleted directory', () => {
    expect(discoverSocket({ cwd, env })).toBeNull()
    rmSync(cwd, { recursive: true })
    expect(discoverSocket({ cwd, env })).toBeNull()
  })

  it.runIf(process.getuid?.() === 0)('does not follow a config to a socket of another user', async () => {
    const socketPath = await live(join(place.directory, 'a.sock'))
    chownSync(socketPath, 65_534, 65_534)
    configure(cwd, { socketPath })
    expect(discoverSocket({ cwd, env })).toBeNull()
    expect(discoverSocket({ cwd, env: { ...env, RELAY_SOCKET: socketPath } })?.socketPath).toBe(socketPath)
  })
})

describe('findDaemon', () => {
  it('never guesses the workspace of a demo', async () => {
    const demo = await live(socketOf('demo-7c41'))
    await expect(findDaemon({ cwd, env })).rejects.toThrow('not running')
    const socketPath = await live(socketOf('shop'))
    await expect(findDaemon({ cwd, env })).resolves.toMatchObject({ socketPath, project: 'shop' })
    await expect(findDaemon({ cwd, env, project: 'demo-7c41' })).resolves.toMatchObject({ socketPath: demo })
  })

  it('skips dead socket files in a scan', async () => {
    dead(socketOf('a-dead'), socketOf('z-dead'))
    const socketPath = await live(socketOf('m-live'))
    await expect(findDaemon({ cwd, env })).resolves.toEqual({ socketPath, project: 'm-live', source: 'scan' })
  })

  it('uses the name of the workspace if nobody answers at the configured socket', async () => {
    const written = join(place.directory, 'old.sock')
    dead(written)
    const socketPath = await live(socketOf('shop'))
    configure(cwd, { project: 'shop', socketPath: written })
    await expect(findDaemon({ cwd, env })).resolves.toEqual({ socketPath, project: 'shop', source: 'cwd' })
  })

  it('says that no daemon runs if nobody answers at any socket', async () => {
    dead(socketOf('shop'))
    writeFileSync(join(projectDir(data, 'shop'), 'relay.db'), '')
    await expect(findDaemon({ cwd, env })).rejects.toMatchObject({
      name: 'DaemonNotRunningError',
      message: 'Relay daemon is not running. Start with: agent-relay daemon start',
    })
  })

  it('does not take a plain file for a daemon', async () => {
    mkdirSync(projectDir(data, 'shop'), { recursive: true })
    writeFileSync(socketOf('shop'), '')
    await expect(findDaemon({ cwd, env })).rejects.toThrow('not running')
  })

  it('takes home before all others outside a project, and never in one', async () => {
    const shop = await live(socketOf('shop'))
    await live(socketOf('blog'))
    const socketPath = await live(socketOf('home'))
    await expect(findDaemon({ cwd, env })).resolves.toEqual({ socketPath, project: 'home', source: 'scan' })
    expect(discoverSocket({ cwd, env })).toEqual({ socketPath, project: 'home', source: 'scan' })
    configure(cwd, { project: 'shop' })
    await expect(findDaemon({ cwd, env })).resolves.toEqual({ socketPath: shop, project: 'shop', source: 'cwd' })
  })

  it('names a workspace that is not open where the daemon runs', async () => {
    await live(controlSocketPath(data, env))
    const named = (project: string) => findDaemon({ cwd, env, project })
    await expect(named('shop')).rejects.toMatchObject({ code: 'workspace.unknown', details: { workspace: 'shop' } })
    mkdirSync(projectDir(data, 'shop'), { recursive: true })
    writeFileSync(join(projectDir(data, 'shop'), 'relay.db'), '')
    await expect(named('shop')).rejects.toMatchObject({
      code: 'workspace.closed',
      message: 'Workspace "shop" is not open. To open it: agent-relay workspace open shop',
    })
    await expect(findDaemon({ cwd, env })).rejects.toMatchObject({ details: { workspace: 'home' } })
  })

  it('names the socket of RELAY_SOCKET at which nothing listens, and what runs', async () => {
    const gone = join(place.directory, 'gone.sock')
    const byPath: Env = { ...env, RELAY_SOCKET: gone }
    const text = `Relay daemon is not running at ${gone}, which RELAY_SOCKET names: nothing listens there.`
    const says = async (rest: string) => {
      const error = { name: 'DaemonNotRunningError', code: 'daemon.not-running', message: `${text} ${rest}` }
      await expect(findDaemon({ cwd, env: byPath })).rejects.toMatchObject(error)
    }
    await says('Start with: agent-relay daemon start')
    dead(gone)
    await says('Start with: agent-relay daemon start')
    await live(controlSocketPath(data, env))
    await says('Another one runs: unset RELAY_SOCKET to use it.')
    const home = await live(socketOf('home'))
    await says(`Another one runs, with workspace home at ${home}: unset RELAY_SOCKET to use it.`)
    const shop = await live(socketOf('shop'))
    await expect(findDaemon({ cwd, env: byPath, project: 'shop' })).resolves.toMatchObject({ socketPath: shop })
    byPath.RELAY_PROJECT = 'shop'
    await says(`Another one runs, with workspace shop at ${shop}: unset RELAY_SOCKET to use it.`)
  })

  it('refuses to guess between several that live, and names them', async () => {
    await live(socketOf('shop'))
    await live(socketOf('blog'))
    dead(socketOf('gone'))
    await expect(findDaemon({ cwd, env })).rejects.toMatchObject({
      code: 'workspace.ambiguous',
      message: 'Several workspaces are running: blog, shop. Say which one with --project NAME or RELAY_PROJECT=NAME.',
      details: { workspaces: ['blog', 'shop'] },
    })
    await expect(findDaemon({ cwd, env, project: 'blog' })).resolves.toMatchObject({ project: 'blog' })
  })
})

describe('paths', () => {
  it.runIf(process.platform === 'linux')('puts data where RELAY_DATA_DIR, XDG_DATA_HOME or home says', () => {
    expect(dataDir({ HOME: '/h' })).toBe('/h/.local/share/agent-relay')
    expect(dataDir({ HOME: '/h', XDG_DATA_HOME: '/x' })).toBe('/x/agent-relay')
    expect(dataDir({ HOME: '/h', XDG_DATA_HOME: 'relative' })).toBe('/h/.local/share/agent-relay')
    expect(dataDir({ HOME: '/h', XDG_DATA_HOME: '/x', RELAY_DATA_DIR: '/d' })).toBe('/d')
    expect(dataDir({ HOME: '/h', RELAY_DATA_DIR: `\${RELAY_DATA_DIR}` })).toBe('/h/.local/share/agent-relay')
  })

  it('keeps keys with their data directory', () => {
    expect(credentialsPath({ HOME: '/h' })).toBe('/h/.agent-relay/credentials.json')
    expect(credentialsPath({ HOME: '/h', RELAY_DATA_DIR: '/d' })).toBe('/d/credentials.json')
  })

  it.skipIf(process.platform === 'win32')(
    'moves a socket whose path is over 100 bytes to a short private place',
    () => {
      const room = (bytes: number): string => `/${'d'.repeat(bytes - '/'.length - '/projects/shop/daemon.sock'.length)}`
      const fits = room(100)
      expect(socketPathOf(fits, 'shop', {})).toBe(`${fits}/projects/shop/daemon.sock`)
      const long = room(101)
      expect(socketPathOf(long, 'shop', { XDG_RUNTIME_DIR: '/run/user/1' })).toMatch(
        /^\/run\/user\/1\/agent-relay\/[0-9a-f]{16}\.sock$/,
      )
      expect(socketPathOf(long, 'shop', {})).toMatch(/\/agent-relay-\d+\/[0-9a-f]{16}\.sock$/)
      expect(socketPathOf(long, 'shop', {})).not.toBe(socketPathOf(long, 'shops', {}))
      expect(controlSocketPath(`${long}${long}`, {})).toMatch(/\/agent-relay-\d+\/[0-9a-f]{16}\.sock$/)
      expect(controlSocketPath('/d', {})).toBe('/d/control.sock')
      // Letters of two bytes count twice.
      expect(socketPathOf(`/${'ä'.repeat(45)}`, 'shop', {})).toMatch(/[0-9a-f]{16}\.sock$/)
    },
  )

  it('takes programs from no folder of PATH that depends on the current directory', () => {
    const absolute = join(place.directory, 'bin')
    expect(programFolders(['', '.', 'bin', absolute, '../bin', ''].join(delimiter))).toEqual([absolute])
    expect([programFolders(''), programFolders(undefined)]).toEqual([[], []])
  })

  it('finds a daemon at such a moved socket', async () => {
    const long = join(place.directory, 'x'.repeat(100))
    env = { ...env, RELAY_DATA_DIR: long, XDG_RUNTIME_DIR: place.directory }
    mkdirSync(projectDir(long, 'shop'), { recursive: true })
    const socketPath = await live(socketPathOf(long, 'shop', env))
    await expect(findDaemon({ cwd, env })).resolves.toEqual({ socketPath, project: 'shop', source: 'scan' })
  })

  it('tells where a config was found', () => {
    configure(place.directory, { project: 'shop', socketPath: '/s' })
    expect(findProjectConfig(cwd)).toEqual({
      path: join(place.directory, '.relay', 'config.json'),
      directory: place.directory,
      project: 'shop',
      socketPath: '/s',
    })
  })

  it('loads no more than node: modules and our own light files', () => {
    const light = ['discover', 'paths', 'foreign-file', 'parse-json', 'pipe-limits', 'settings', 'test-relays']
    const source = [...light.map((name) => `internal/${name}`), 'errors']
      .map((name) => readFileSync(join(import.meta.dirname, '../src', `${name}.ts`), 'utf8'))
      .join('\n')
    const imports = [...source.matchAll(/^import (?!type )[^']*'([^']+)'|^} from '([^']+)'/gm)].map(
      (found) => found[1] ?? found[2],
    )
    expect(new Set(imports)).toEqual(
      new Set([
        ...['node:fs', 'node:net', 'node:path', '../errors.ts'],
        ...[
          './foreign-file.ts',
          './parse-json.ts',
          './paths.ts',
          './pipe-limits.ts',
          './settings.ts',
          './test-relays.ts',
          './worktree.ts',
        ],
      ]),
    )
  })
})

it('is the same module where CommonJS requires it, without a warning and without zod', () => {
  const program = `const names = Object.keys(require('@agent-relay/sdk/internal/discover'))
    console.log(JSON.stringify({ names, loaded: Object.keys(require.cache) }))`
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', program], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  const { names, loaded } = JSON.parse(stdout) as { names: string[]; loaded: string[] }
  expect(names).toEqual(expect.arrayContaining(['findDaemon', 'reachDaemon', 'discoverSocket', 'setting']))
  expect(loaded.filter((path) => /[/\\]zod[/\\]/.test(path))).toEqual([])
})
