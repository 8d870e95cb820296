// `daemon start --test`: only programs in the same directory find it, and a signal ends it.

import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createServer } from '@agent-relay/mcp'
import { discoverSocket, findDaemon, testRelayFolder } from '@agent-relay/sdk/internal/discover'
import { registerTestRelay, testRelays } from '@agent-relay/sdk/internal/test-relays'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { until } from '../../../../test/until.ts'
import { launcher, Running, World } from './cli-world.ts'

let world: World
/** A clean home: nothing names a data directory. */
let env: Record<string, string | undefined>
beforeEach(() => {
  world = new World()
  env = { ...world.env, RELAY_DATA_DIR: undefined, TMPDIR: world.directory('tmp') }
})
afterEach(() => world.close())

function start(cwd = world.cwd, ...more: string[]): Running {
  const child = spawn(process.execPath, [launcher, 'daemon', 'start', '--test', ...more], { cwd, env })
  const running = new Running(child)
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await running.ended
  })
  return running
}
const left = () => ({
  tmp: readdirSync(join(world.root, 'tmp')),
  cwd: readdirSync(world.cwd),
  home: readdirSync(join(world.root, 'home'), { recursive: true }),
})

describe('daemon start --test', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('serves its directory until %s, and leaves nothing', async (signal) => {
    const before = left()
    const relay = start()
    await relay.says(/^export /)
    const { project, socketPath, source } = await findDaemon({ cwd: world.cwd, env })
    expect([project, source, existsSync(socketPath)]).toEqual(['app', 'cwd', true])
    expect(discoverSocket({ cwd: world.cwd, env })).toEqual({ project, socketPath, source })
    expect((await world.run(['send', '#general', 'hi'], { env })).code).toBe(0)
    const { code, stderr } = await relay.stop(signal)
    expect([code, stderr]).toEqual([0, expect.stringContaining('stopping.')])
    expect(left()).toEqual(before)
    await expect(findDaemon({ cwd: world.cwd, env })).rejects.toMatchObject({ code: 'daemon.not-running' })
  })

  it('is what createServer() finds, also where it is asked for while the relay still starts', async () => {
    const relay = start()
    await until(() => testRelays(world.cwd, env).length > 0)
    for (const name of ['HOME', 'TMPDIR', 'RELAY_DATA_DIR']) vi.stubEnv(name, env[name])
    const cwd = vi.spyOn(process, 'cwd').mockReturnValue(world.cwd)
    onTestFinished(() => {
      cwd.mockRestore()
      vi.unstubAllEnvs()
    })
    const server = await createServer()
    await server.close()
    expect((await relay.stop()).code).toBe(0)
  })

  it('goes before a workspace of this directory that runs, and is not found where another one is named', async () => {
    await world.serve()
    env = { ...world.env, TMPDIR: env.TMPDIR }
    const own = await findDaemon({ cwd: world.cwd, env })
    const relay = start()
    await relay.says(/^export /)
    const found = await findDaemon({ cwd: world.cwd, env })
    expect(found.socketPath).toContain('agent-relay-memory-')
    const elsewhere = [
      { cwd: world.directory('app/deeper'), env },
      { cwd: world.cwd, env, project: 'app' },
      { cwd: world.cwd, env: { ...env, RELAY_PROJECT: 'app' } },
      { cwd: world.cwd, env: { ...env, RELAY_SOCKET: own.socketPath } },
    ]
    for (const where of elsewhere) expect((await findDaemon(where)).socketPath).toBe(own.socketPath)
    await relay.stop()
    expect(await findDaemon({ cwd: world.cwd, env })).toEqual(own)
  })

  it('may run twice: the newest is found, then the other', async () => {
    const one = start()
    await one.says(/^export /)
    const first = await findDaemon({ cwd: world.cwd, env })
    const two = start(world.cwd, '--json')
    await two.says(/"ready"/)
    const ready = JSON.parse(two.stdout)
    expect([ready.workspace, ready.pid]).toEqual(['app', two.child.pid])
    expect((await findDaemon({ cwd: world.cwd, env })).socketPath).toBe(ready.env.RELAY_SOCKET)
    await two.stop('SIGKILL')
    expect(await findDaemon({ cwd: world.cwd, env })).toEqual(first)
    await one.stop()
  })
})

describe('the notes of relays for tests', () => {
  const dead = () => spawn('true').pid as number

  it('of one that was killed is passed over, and goes with the next', async () => {
    await world.serve()
    env = { ...world.env, TMPDIR: env.TMPDIR }
    const own = await findDaemon({ cwd: world.cwd, env })
    const folder = testRelayFolder(world.cwd, env)
    mkdirSync(folder, { mode: 0o700 })
    const killed = `${Date.now()}.${dead()}.app`
    for (const name of [killed, 'no note', '1.2.no name']) writeFileSync(join(folder, name), '/nowhere/daemon.sock')
    // Its number may be another process' by now.
    writeFileSync(join(folder, `${Date.now() - 60_000}.${process.pid}.app`), '/nowhere/daemon.sock')
    writeFileSync(join(folder, `${Date.now()}.${process.pid}.empty`), '')
    await until(async () => (await findDaemon({ cwd: world.cwd, env })).socketPath === own.socketPath)
    const forget = registerTestRelay({ project: 'app', socketPath: '/nowhere' }, world.cwd, env)
    expect(readdirSync(folder)).not.toContain(killed)
    forget()
    forget()
  })

  it('are not read from, or written to, a folder that is a link', async () => {
    await world.serve()
    env = { ...world.env, TMPDIR: env.TMPDIR }
    const own = await findDaemon({ cwd: world.cwd, env })
    const planted = world.directory('planted')
    writeFileSync(join(planted, `${Date.now()}.${process.pid}.app`), own.socketPath)
    symlinkSync(planted, testRelayFolder(world.cwd, env))
    expect((await findDaemon({ cwd: world.cwd, env })).socketPath).toBe(own.socketPath)
    const { code, stderr } = await start().ended
    expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining('is not a directory of yours')])
    expect(code).not.toBe(0)
    expect(readdirSync(join(world.root, 'tmp'))).toEqual([expect.stringContaining('agent-relay-test-')])
  })
})
