// A repository that somebody else made: whatever is at .relay, no command waits, fills the memory or writes outside, and the daemon lives.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pipeLauncher, World } from '../cli/cli-world.ts'
import { WorkerWorld } from '../supervisor/worker-world.ts'

let world: World
let count = 0
beforeAll(async () => {
  world = new World()
  await world.serve()
})
afterAll(() => world.close())

const bombs: [name: string, plant: (relay: string) => void, why: string][] = [
  ['a link to /dev/zero', (relay) => symlinkSync('/dev/zero', config(relay)), 'this is a link, not a file'],
  ['a FIFO', (relay) => execFileSync('mkfifo', [config(relay)]), 'this is a FIFO, not a file'],
]

function config(relay: string): string {
  mkdirSync(relay)
  return join(relay, 'config.json')
}

function repository(plant: (relay: string) => void = () => {}): string {
  const directory = world.directory(`repository-${++count}`)
  plant(join(directory, '.relay'))
  return directory
}

describe.each(bombs)('.relay/config.json is %s', (_, plant, why) => {
  const fix = `: ${why}. Nothing was changed; fix the file or move it away.`

  test.each([[['who']], [['inbox']], [['daemon', 'start']], [['trust']], [['setup', '--yes']], [['mcp', 'serve']]])(
    'agent-relay %j says so and ends',
    async (args) => {
      const cwd = repository(plant)
      const { code, stderr } = await world.launch(args, { cwd })
      expect(code).not.toBe(0)
      expect(stderr).toContain(join(cwd, '.relay', 'config.json') + fix)
    },
  )

  test('a workspace that is named by --project is reached all the same', async () => {
    expect(await world.launch(['who', '--project', 'app'], { cwd: repository(plant) })).toMatchObject({ code: 0 })
  })

  test('the hook of a CLI stays silent', async () => {
    const env = { PATH: process.env.PATH, HOME: world.root, RELAY_DATA_DIR: world.dataDir }
    const hook = spawn(process.execPath, [pipeLauncher, 'hook', 'Stop'], { cwd: repository(plant), env })
    expect((await once(hook, 'close'))[0]).toBe(0)
  })

  test('a spawn in that directory is refused, and the daemon goes on', async () => {
    const workers = await WorkerWorld.start()
    const spawned = workers.lead.call('worker.spawn', {
      name: 'Gus',
      cli: 'plain',
      command: ['sh', '-c', 'sleep 60'],
      cwd: repository(plant),
    })
    await expect(spawned).rejects.toThrow(why)
    expect((await workers.lead.call('agent.list', {})).agents.map(({ name }) => name)).toEqual(['Lead'])
    expect(workers.troubles).toEqual([])
    await workers.stop()
  })
})

test('invalid settings are reported in a few words, however long they are', async () => {
  const servers = Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`${i}${'x'.repeat(200)}`, 7]))
  const cwd = repository((relay) => writeFileSync(config(relay), JSON.stringify({ mcpServers: servers })))
  const { code, stderr } = await world.launch(['trust'], { cwd })
  expect(code).toBe(78)
  expect(stderr).toContain('mcpServers.0xxx')
  expect(stderr.length).toBeLessThan(1_000)
})

describe('a link in the place of what `daemon start` writes', () => {
  /** The directory outside, with what stood there before. */
  function outside(): string {
    const directory = world.directory(`outside-${++count}`)
    writeFileSync(join(directory, 'mine'), 'as it was\n')
    return directory
  }

  test.each<[name: string, plant: (relay: string, outside: string) => void, refused: string]>([
    ['.relay', (relay, out) => symlinkSync(out, relay), 'this is a link, not a directory'],
    ['.relay to nothing', (relay, out) => symlinkSync(join(out, 'new'), relay), 'this is a link, not a directory'],
    [
      '.relay/.gitignore',
      (relay, out) => symlinkSync(join(out, 'mine'), join(made(relay), '.gitignore')),
      'this is a link, not a file',
    ],
    [
      '.relay/.gitignore to nothing',
      (relay, out) => symlinkSync(join(out, 'ignore'), join(made(relay), '.gitignore')),
      'this is a link, not a file',
    ],
    ['.relay/config.json', (relay, out) => symlinkSync(join(out, 'mine'), config(relay)), 'this is a link, not a file'],
    [
      '.relay/config.json to nothing',
      (relay, out) => symlinkSync(join(out, 'config.json'), config(relay)),
      'this is a link, not a file',
    ],
  ])('%s: nothing is written through it, and it is named', async (_, plant, refused) => {
    const out = outside()
    const cwd = repository((relay) => plant(relay, out))
    const { code, stderr } = await world.launch(['daemon', 'start', '--project', 'app'], { cwd })
    expect(code).toBe(0)
    expect(stderr).toContain(refused)
    expect(stderr).toContain('is not marked as app')
    expect(readdirSync(out)).toEqual(['mine'])
    expect(readFileSync(join(out, 'mine'), 'utf8')).toBe('as it was\n')
  })

  function made(relay: string): string {
    mkdirSync(relay)
    return relay
  }

  test('a lift that keeps its messages writes nothing into the repository', async () => {
    const out = outside()
    const cwd = repository((relay) => symlinkSync(out, relay))
    const lift = world.start(['lift', '--port', '0', '--keep'], { cwd })
    await lift.says(/^ready\./m)
    await lift.stop()
    expect(readdirSync(out)).toEqual(['mine'])
    expect(lstatSync(join(cwd, '.relay')).isSymbolicLink()).toBe(true)
    expect(readdirSync(join(world.dataDir, 'lifts'))).toHaveLength(1)
  })
})

test('a file of keys beside a socket that the repository names is read just as carefully', async () => {
  const cwd = repository((relay) => {
    const socketPath = join(world.dataDir, 'projects/app/daemon.sock')
    mkdirSync(join(relay, 'a/b'), { recursive: true })
    symlinkSync(socketPath, join(relay, 'a/b/daemon.sock'))
    symlinkSync('/dev/zero', join(relay, 'credentials.json'))
    writeFileSync(join(relay, 'config.json'), JSON.stringify({ socketPath: '.relay/a/b/daemon.sock' }))
  })
  const keys = join(world.root, 'no-keys')
  mkdirSync(keys)
  const { code, stderr } = await world.launch(['who'], { cwd, env: { RELAY_DATA_DIR: keys } })
  expect([code, stderr]).toEqual([78, expect.stringContaining('credentials.json: this is a device, not a file')])
  expect(existsSync(join(keys, 'credentials.json'))).toBe(false)
})

test('the doctor looks at odd files of a project and goes on', async () => {
  const cwd = repository()
  symlinkSync('/dev/zero', join(cwd, '.mcp.json'))
  mkdirSync(join(cwd, '.cursor'))
  execFileSync('mkfifo', [join(cwd, '.cursor', 'mcp.json')])
  const { stdout } = await world.launch(['doctor'], { cwd })
  expect(stdout).toContain('.mcp.json: a link leads out of the project')
  expect(stdout).toContain('mcp.json: this is a FIFO, not a file')
})

test('a directory whose name holds control sequences is printed without them', async () => {
  const cwd = world.directory('odd\u001b]0;owned\u0007\u202e')
  mkdirSync(join(cwd, '.relay'))
  writeFileSync(join(cwd, '.relay', 'config.json'), '{')
  for (const args of [['who'], ['trust'], ['mcp', 'serve'], ['daemon', 'start', '--project', 'app']]) {
    const { stdout, stderr } = await world.launch(args, { cwd })
    expect(stdout + stderr).toContain('.relay/config.json: not valid JSON')
    expect(stdout + stderr).not.toMatch(/[\u202e]|owned/)
  }
})
