// The commands that start and stop the relay: `up`, `daemon …`, `workspace …`, their races, and their leftovers.

import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isAlive } from '../../../../test/is-alive.ts'
import { aWhile, until } from '../../../../test/until.ts'
import { prepareDaemon, reachOrSpawnDaemon } from '../../src/cli/commands/daemon/starting.ts'
import { lockPathOf } from '../../src/daemon/inspect.ts'
import { DaemonLock } from '../../src/store/lock.ts'
import { type Ran, shellWords, World, withoutWaiting } from './cli-world.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world.close())

const notRunning = 'Relay daemon is not running. Start with: agent-relay daemon start\n'

function configOf(directory: string): { project: string; socketPath: string } {
  return JSON.parse(readFileSync(join(directory, '.relay', 'config.json'), 'utf8'))
}

/** `A=1 B='two words'`, as a shell takes it. */
function settings(text = ''): Record<string, string> {
  return Object.fromEntries(shellWords(text).map((word) => word.split('=', 2) as [string, string]))
}

describe('up', () => {
  it('prints where it listens, then a line per message, and stops with exit code 0', async () => {
    const up = world.start(['up'])
    await up.says(/ready\. Messages appear below, Ctrl-C stops\.\n/)
    expect(up.stdout).toMatch(
      /^agent-relay \d+\.\d+\.\d+ · workspace app\n {2}agents +agent-relay mcp serve +\(or http:\/\/127\.0\.0\.1:\d+\/mcp\)\n {2}data +.+projects\/app\nNext, in a second terminal:\n {2}connect your editors and CLIs +agent-relay mcp install\n {2}see it work without any +agent-relay demo\n {2}watch in the browser +http:\S+\?code=\S+ +once, within five minutes\n/,
    )
    expect(withoutWaiting(up.stderr)).toMatch(
      /^made workspace app\.\nwrote .+config\.json: programs in this directory use workspace app\.\n$/,
    )
    expect(configOf(world.cwd)).toEqual({ project: 'app', socketPath: join(world.dataDir, 'projects/app/daemon.sock') })
    expect(readFileSync(join(world.cwd, '.relay', '.gitignore'), 'utf8')).toBe('*\n')
    await world.run(['inbox', '--as', 'pm'])
    await world.run([
      'send',
      'pm',
      `Task P4 DONE,\nlast commit \u001b[1mabc1234 ${'z'.repeat(300)}`,
      '--kind',
      'status',
      '--as',
      'dev-b',
    ])
    await up.says(/\[\d\d:\d\d:\d\d\] dev-b → pm \[status\] "Task P4 DONE, last commit abc1234 z+\.\.\."\n/)
    expect(await up.stop()).toMatchObject({ code: 0, stderr: expect.stringMatching(/stopping\.\n$/) })
    expect((await world.run(['who'])).code).toBe(69)
  })

  it('opens its workspace in the daemon that runs, follows it, and leaves it open', async () => {
    await world.run(['daemon', 'start'])
    const before = readFileSync(join(world.cwd, '.relay/config.json'))
    const other = world.directory('other')
    const up = world.start(['up'], { cwd: other })
    await up.says(/workspace other, open in the daemon that is already running[\s\S]*Ctrl-C ends this view/)
    await world.run(['inbox', '--as', 'Bob'], { cwd: other })
    await world.run(['send', 'Bob', 'hi', '--as', 'Alice'], { cwd: other })
    await up.says(/Alice → Bob \[free\] "hi"/)
    expect((await up.stop('SIGTERM')).code).toBe(0)
    expect((await world.run(['who'], { cwd: other })).code).toBe(0)
    expect(readFileSync(join(world.cwd, '.relay/config.json'))).toEqual(before)
  })

  it('resumes its feed when the daemon was restarted, and when its workspace was closed', async () => {
    await world.run(['daemon', 'start'])
    const up = world.start(['up', '--json'])
    await up.says(/"type":"ready"/)
    await world.run(['inbox', '--as', 'Bob'])
    expect(await world.run(['daemon', 'restart'])).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('Open: app, home.'),
    })
    await world.run(['send', 'Bob', 'after', '--as', 'Alice'])
    await up.says(/"body":"after"/)
    await world.run(['workspace', 'close', 'app', '--force'])
    await world.run(['workspace', 'open', 'app'])
    await world.run(['send', 'Bob', 'open again', '--as', 'Alice'])
    await up.says(/"body":"open again"/)
    const closed = 'Workspace "app" is not open\\. To open it: agent-relay workspace open app\nWaiting for that\\.'
    expect((await up.stop()).stderr).toMatch(
      new RegExp(`The daemon is gone[^]*The daemon is back\\.\n${closed}.*\nThe workspace is open again\\.`),
    )
  })

  it('leaves nothing behind in memory', async () => {
    const up = world.start(['up', '--memory'])
    await up.says(/ready\./)
    const env = settings(/^.*export (.+)$/m.exec(up.stdout)?.[1])
    const directory = env.RELAY_DATA_DIR as string
    expect(statSync(directory).mode & 0o777).toBe(0o700)
    expect((await world.run(['send', '#general', 'hi'], { env })).code).toBe(0)
    await up.says(/→ #general \[free\] "hi"/)
    expect(existsSync(join(directory, 'projects/app/relay.db'))).toBe(false)
    expect((await up.stop()).code).toBe(0)
    expect(existsSync(directory)).toBe(false)
    expect(existsSync(join(world.cwd, '.relay'))).toBe(false)
  })
})

describe('daemon', () => {
  const impatient = { tellMs: 1, otherMs: 1 }

  it('is waited for as long as it starts, and whoever waits is told', async () => {
    const said: string[] = []
    // No daemon answers within a millisecond: as one that has much to rewrite after an update.
    const { link, childPid } = await reachOrSpawnDaemon(world.env, [], (text) => said.push(text), { limits: impatient })
    expect((await link.call('daemon.status', {}, 'c')).pid).toBe(childPid)
    await link.close()
    expect(said).toEqual([
      expect.stringMatching(`^The daemon \\(pid ${childPid}\\) is still starting\\. .* Its log: /`),
    ])
  })

  it('is waited for as long as the process lives that starts it, and nothing else is started meanwhile', async () => {
    const [starts, said] = [join(world.directory('data'), 'starts'), [] as string[]]
    const counting = `import{appendFileSync}from"node:fs";appendFileSync(${JSON.stringify(starts)},"s")`
    const env = { ...world.env, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(counting)}` }
    // This process is the winner, which takes long: it has the lock, and does not answer yet.
    const winner = DaemonLock.acquire(lockPathOf(world.dataDir))
    const loser = reachOrSpawnDaemon(env, [], (text) => said.push(text), { limits: impatient })
    await until(() => said.some((text) => text.startsWith('Another process ')))
    await Promise.race([loser, aWhile(1_500)])
    expect(readFileSync(starts, 'utf8')).toBe('s')
    winner?.release()
    const { link, childPid } = await loser
    expect((await link.call('daemon.status', {}, 'c')).pid).toBe(childPid)
    await link.close()
    expect(said).toContain(
      `Another process starts or stops a daemon in ${world.dataDir}: waiting for it. Ctrl-C ends the wait. Its log: ${join(world.dataDir, 'daemon.log')}`,
    )
    expect(readFileSync(starts, 'utf8')).toBe('ss')
  })

  it('that hangs is not waited for: it has announced itself, and does not answer', async () => {
    const [hanging, hooks] = [DaemonLock.acquire(lockPathOf(world.directory('data'))), world.directory('data/hooks')]
    writeFileSync(join(hooks, 'daemon'), `${process.pid}\n`)
    await expect(reachOrSpawnDaemon(world.env, [], () => {}, { limits: impatient })).rejects.toThrow(
      `Another process (pid ${process.pid}, just started) holds ${world.dataDir} but does not answer.`,
    )
    hanging?.release()
  })

  it('is one, however many start it at once', async () => {
    const starts = await Promise.all(Array.from({ length: 8 }, () => world.run(['daemon', 'start', '--json'])))
    expect(starts.map(({ code, stderr }) => [code, code === 0 ? '' : stderr])).toEqual(starts.map(() => [0, '']))
    const answers = starts.map(({ stdout }) => JSON.parse(stdout) as { pid: number; isNew: boolean; workspace: string })
    expect(new Set(answers.map(({ pid }) => pid)).size).toBe(1)
    expect(answers.filter(({ isNew }) => isNew).length).toBeLessThanOrEqual(1)
    expect(new Set(answers.map(({ workspace }) => workspace))).toEqual(new Set(['app']))
    expect(readdirSync(join(world.dataDir, 'projects'))).toEqual(['app', 'home'])
  })

  it('is ended where it still starts while another one answers', async () => {
    // It would take the other's place, were that one stopped soon.
    const slow = '--import=data:text/javascript,await(new(Promise)(r=>setTimeout(r,600000)))'
    const late = reachOrSpawnDaemon({ ...world.env, NODE_OPTIONS: slow }, [], () => {})
    const first = await reachOrSpawnDaemon(world.env, [], () => {})
    const { link, childPid } = await late
    expect((await link.call('daemon.status', {}, 'c')).pid).toBe(first.childPid)
    await until(() => !isAlive(childPid as number))
    for (const each of [first.link, link]) await each.close()
  })

  it('stays when the one that is to follow it cannot even load', async () => {
    await world.run(['daemon', 'start'])
    const { pid } = await world.json(['daemon', 'status'])
    const env = { NODE_OPTIONS: '--import=data:text/javascript,throw(new(Error)("cannot%20load"))' }
    const { code, stderr } = await world.run(['daemon', 'restart'], { env })
    expect([code, stderr]).toEqual([1, expect.stringContaining('cannot load')])
    expect(await world.json(['daemon', 'status'])).toMatchObject({ pid })
  })

  it('that is to follow another one ends with the command that has started it, and touches nothing before it is told', async () => {
    await world.run(['daemon', 'start'])
    const { pid } = await world.json(['daemon', 'status'])
    const prepared = await prepareDaemon(world.env, [])
    prepared.process.disconnect()
    await until(() => prepared.code !== undefined)
    expect(prepared.code).toBe(0)
    expect(await world.json(['daemon', 'status'])).toMatchObject({ pid })
  })

  it('starts, tells its state, logs, and stops', async () => {
    const started = await world.run(['daemon', 'start'])
    expect(started).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^workspace app {2}.+daemon\.sock\nhttp {6}http:\/\/127\.0\.0\.1:\d+\/mcp\n$/),
    })
    const [status, again, logs] = await Promise.all([
      world.run(['daemon', 'status']),
      world.run(['daemon', 'start']),
      world.run(['daemon', 'logs']),
    ])
    const pid = /^daemon +agent-relay \S+, pid (\d+), up /.exec(status.stdout)?.[1]
    expect(again.stderr).toBe(`The daemon was already running (pid ${pid}).\n`)
    expect(logs.stdout).toContain(`pid ${pid}, data in ${world.dataDir}`)
    expect(statSync(join(world.dataDir, 'daemon.log')).mode & 0o777).toBe(0o600)
    const following = world.start(['daemon', 'logs', '--follow', '--lines', '1'])
    await following.says(/runs, pid/)
    expect(await world.run(['daemon', 'stop'])).toMatchObject({
      code: 0,
      stderr: `The daemon has stopped (pid ${pid}).\n`,
    })
    await following.says(/stopped/)
    expect((await following.stop()).code).toBe(0)
    expect(await world.run(['daemon', 'stop'])).toEqual({ code: 69, stdout: '', stderr: notRunning })
  })

  it('takes over what a killed one left, with its open workspaces', async () => {
    await world.run(['daemon', 'start'])
    await world.run(['send', '#general', 'kept', '--as', 'Alice'])
    const { pid } = await world.json<{ pid: number }>(['daemon', 'status'])
    process.kill(pid, 'SIGKILL')
    // Its sockets close a moment after it counts as gone: until then a connection is made, and reset.
    const who = () => world.run(['who'])
    await until(async () => !isAlive(pid) && (await who()).stderr === notRunning)
    expect((await who()).code).toBe(69)
    expect((await world.run(['daemon', 'start', '--project', 'second'])).code).toBe(0)
    const { messages } = await world.json<{ messages: number }>(['status'])
    expect(messages).toBe(1)
    expect(configOf(world.cwd).project).toBe('app')
  })

  // Root may write everywhere: there the process becomes somebody else first.
  it('one that only others may write to is no data directory, nor the place of one', () => {
    // By names below its working directory: others may not enter what lies above it everywhere.
    chmodSync(world.directory('theirs'), 0o555)
    const module = new URL('../../dist/machine/data-directory.js', import.meta.url).href
    const program = `import { dataDirectoryFault } from '${module}'
      if (process.getuid() === 0) process.setuid(65534)
      console.log(JSON.stringify(['', '/data', '/../app'].map((end) => dataDirectoryFault('theirs' + end) ?? null)))`
    chmodSync(world.root, 0o755)
    chmodSync(world.cwd, 0o777)
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      cwd: world.root,
      encoding: 'utf8',
    })
    const fault = 'you cannot write to theirs'
    expect(JSON.parse(stdout)).toEqual([fault, fault, null])
  })

  it('says why it did not start', async () => {
    writeFileSync(world.dataDir, 'a file, not a directory')
    const failed = await world.run(['daemon', 'start'])
    expect(failed.code).toBe(77)
    expect(failed.stderr).toContain(`The data directory ${world.dataDir} cannot be used: ${world.dataDir} is no`)
    expect(failed.stderr).toContain('choose another place with RELAY_DATA_DIR')
    rmSync(world.dataDir)
    writeFileSync(join(world.directory('data'), 'credentials.json'), 'not json')
    expect(await world.run(['daemon', 'start'])).toMatchObject({
      code: 78,
      stderr: expect.stringContaining('not valid JSON'),
    })
    rmSync(join(world.dataDir, 'credentials.json'))
    writeFileSync(join(world.dataDir, 'control.sock'), 'in the way')
    const blocked = await world.run(['daemon', 'start'])
    expect(blocked).toMatchObject({ code: 1, stderr: expect.stringContaining('is in the way: it is not a socket') })
  })

  it('in memory prints what to set, and goes without a trace', async () => {
    const { code, stdout } = await world.run(['daemon', 'start', '--memory'])
    const env = settings(/^export (.+)\n$/.exec(stdout)?.[1])
    const directory = env.RELAY_DATA_DIR as string
    const seen: Ran[] = [await world.run(['who'], { env }), await world.run(['daemon', 'restart'], { env })]
    const stopped = await world.run(['daemon', 'stop'], { env })
    expect([code, ...seen.map((ran) => ran.code), stopped.code]).toEqual([0, 0, 2, 0])
    // It removes its directory as the last thing that it does, after its sockets.
    await until(() => !existsSync(directory))
  })
})

describe('workspace', () => {
  it('is another one in another directory of the same name, however close they start', async () => {
    const [one, two] = [world.directory('one/app'), world.directory('two/app')]
    await world.run(['daemon', 'start', '--project', 'first'])
    const starts = await Promise.all(
      [one, two].map((cwd) => world.json<{ workspace: string }>(['daemon', 'start'], { cwd })),
    )
    const names = starts.map(({ workspace }) => workspace).sort()
    expect(names).toEqual(['app', expect.stringMatching(/^app-\w{1,5}$/)])
    expect([configOf(one).project, configOf(two).project].sort()).toEqual(names)
    const again = await world.json<{ workspace: string }>(['daemon', 'start'], {
      cwd: world.directory('one/app/deeper'),
    })
    expect(again.workspace).toBe(configOf(one).project)
  })

  it('is made with a key that is shown once', async () => {
    expect(await world.run(['workspace', 'create', 'w'])).toMatchObject({ code: 69 })
    await world.run(['daemon', 'start'])
    const made = await world.run(['workspace', 'create', 'frontend'])
    expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^rk_\S{32}\n$/) })
    expect(await world.run(['workspace', 'create', 'frontend'])).toMatchObject({ code: 1, stdout: '' })
    expect((await world.run(['workspace', 'create', 'no name'])).code).toBe(2)
    const { workspaces } = await world.json<{ workspaces: object[] }>(['workspace', 'list'])
    expect(workspaces).toMatchObject([
      { name: 'app', open: true, directory: world.cwd },
      { name: 'frontend' },
      { name: 'home' },
    ])
    expect((await world.run(['workspace', 'list'])).stdout).toMatch(
      /^NAME +STATE +WHY +DATA +SIZE\napp +open +project of .+\/app +.+ +\d.*\nfrontend +open +opened by its name +.+ +\d.*\nhome +open +agents outside a project meet here/,
    )
    const abroad = await world.run(['send', 'frontend:*', 'hello over there', '--as', 'Alice'])
    expect(abroad.code).toBe(0)
  })
})
