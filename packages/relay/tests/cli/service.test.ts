// `daemon install-service`: the unit it prints and writes, in a private HOME. Nothing is ever started here.

import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { serviceUnitText } from '../../src/cli/commands/daemon/service.ts'
import { World } from './cli-world.ts'

let world: World
let unit: string
beforeEach(() => {
  world = new World()
  unit = join(world.root, 'home/.config/systemd/user/agent-relay.service')
})
afterEach(() => world.close())
const install = (...args: string[]) => world.run(['daemon', 'install-service', ...args])

describe('the text', () => {
  it('escapes what systemd would expand', () => {
    const text = serviceUnitText({
      command: ['/a b/node', '$HOME', '50%"'],
      env: { P: '/x y/$z' },
      finalExits: [76, 78],
    })
    expect(text).toContain('ExecStart="/a b/node" "$$HOME" "50%%\\""\n')
    expect(text).toContain('Environment="P=/x y/$z"\n')
    expect(text).toContain('RestartPreventExitStatus=76 78\n')
  })

  it('runs this very launcher, with the port that was asked for', async () => {
    const { code, stdout } = await install('--dry-run', '--port', '8199')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^ExecStart="\/.*node" "\/.*bin\/agent-relay\.[cm]js" "daemon" "run" "--port" "8199"$/m)
    expect(stdout).toContain(`RELAY_DATA_DIR=${world.dataDir}`)
    expect(stdout).not.toMatch(/node_modules\/\.bin/)
    expect(existsSync(unit)).toBe(false)
  })
})

it('logs JSON if that was asked for', async () => {
  expect((await install('--dry-run', '--log-json')).stdout).toMatch(/^ExecStart=.* "--log-json"$/m)
  const daemon = world.start(['daemon', 'run', '--no-http', '--log-json'])
  await daemon.says(/"event":"started"/)
  const { stderr } = await daemon.stop('SIGTERM')
  const lines = stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines.map(({ level, event }) => [level, event])).toEqual([
    ['info', 'started'],
    ['info', 'stopping'],
    ['info', 'stopped'],
  ])
  expect(lines[0]).toMatchObject({ pid: expect.any(Number), data: world.dataDir, time: expect.stringMatching(/Z$/) })
})

it('writes the unit once, says how to start it, and starts nothing', async () => {
  const first = await install()
  expect(first.stderr).toContain('~/.config/systemd/user/agent-relay.service is written. Nothing was started.')
  expect(first.stdout).toBe('systemctl --user daemon-reload && systemctl --user enable --now agent-relay\n')
  expect(readFileSync(unit, 'utf8').trimEnd()).toBe((await install('--dry-run')).stdout.trimEnd())
  const { mtimeMs } = statSync(unit)
  expect((await install()).stderr).toContain('is up to date')
  expect(statSync(unit).mtimeMs).toBe(mtimeMs)
  expect(existsSync(join(world.dataDir, 'control.sock'))).toBe(false)
  expect((await install('--remove')).code).toBe(0)
  expect(existsSync(unit)).toBe(false)
})

it("leaves somebody else's unit alone", async () => {
  mkdirSync(dirname(unit), { recursive: true })
  writeFileSync(unit, '[Unit]\n')
  for (const args of [[], ['--remove']]) {
    const { code, stderr } = await install(...args)
    expect([code, stderr]).toEqual([78, expect.stringContaining('left alone')])
  }
  expect(readFileSync(unit, 'utf8')).toBe('[Unit]\n')
})

it('says what stands in its way', async () => {
  const config = join(world.root, 'home/.config')
  writeFileSync(config, 'a file')
  const { code, stderr } = await install()
  expect([code, stderr]).toEqual([
    77,
    `~/.config/systemd/user/agent-relay.service cannot be written: ${config} is no directory.\n`,
  ])
})
