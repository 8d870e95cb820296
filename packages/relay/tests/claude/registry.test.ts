// The registry of Claude Code belongs to it: a record in any form but the known one is left alone, with a reason.

import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { ClaudeRegistry } from '../../src/supervisor/claude/registry.ts'
import { ClaudeWorld, type StandIn } from './claude-world.ts'

let world: ClaudeWorld
let session: StandIn
let registry: ClaudeRegistry
let changes = 0
beforeEach(async () => {
  world = new ClaudeWorld()
  session = await world.begin({ name: 'fixer' })
  registry = new ClaudeRegistry({ home: world.home, onChange: () => changes++ })
})
afterEach(() => {
  registry.close()
  return world.close()
})

const at = (...path: string[]) => join(world.home, 'sessions', ...path)
const recordOf = (pid: number) => JSON.parse(world.files()[`${pid}.json`] as string)
/** The only reason for which something was left alone. */
const why = async () => {
  await until(() => registry.leftAlone().length === 1)
  return registry.leftAlone()[0]?.why
}
const isKnown = () => until(() => registry.sessions.size === 1)

describe.skipIf(process.platform !== 'linux')('a record', () => {
  test('tells of its session', async () => {
    await isKnown()
    expect(registry.sessions.get(session.pid)).toMatchObject({
      name: 'fixer',
      directory: world.work,
      doing: { state: 'idle' },
    })
    expect(registry.leftAlone()).toEqual([])
  })

  test.each([
    ['another version of the protocol', { peerProtocol: 2 }, /another version of the protocol: 2/],
    ['no socket', { messagingSocketPath: undefined }, /messagingSocketPath is not as expected/],
    ['a relative socket', { messagingSocketPath: 'x.sock' }, /messagingSocketPath/],
    ['another process', { pid: 1 }, /names another process/],
    ['a process that has ended', { procStart: '1' }, /has ended/],
    ['another container', { pidDomain: 'linux:x:pid:[1]' }, /another container/],
    ['a state that is new', { status: 'dreaming' }, /status/],
    ['a conversation by a path', { sessionId: '../../../../../../etc/passwd-0000000' }, /sessionId/],
    ['a socket of the system', { messagingSocketPath: '/dev/log' }, /not a socket of this user alone/],
    ['a socket in a folder of everybody', { messagingSocketPath: '/tmp/x.sock' }, /not a socket/],
  ])('of %s is left alone', async (_, fields, reason) => {
    await isKnown()
    writeFileSync(at(`${session.pid}.json`), JSON.stringify({ ...recordOf(session.pid), ...fields }))
    expect(await why()).toMatch(reason)
    expect(registry.sessions.size).toBe(0)
  })

  test('that is a link, a FIFO or far too large is not read', async () => {
    await isKnown()
    renameSync(at(`${session.pid}.json`), join(world.root, 'elsewhere.json'))
    symlinkSync(join(world.root, 'elsewhere.json'), at(`${session.pid}.json`))
    expect(await why()).toMatch(/others may write|a link/)
    rmSync(at(`${session.pid}.json`))
    execFileSync('mkfifo', ['-m', '600', at(`${session.pid}.json`)])
    await until(() => /FIFO/.test(registry.leftAlone()[0]?.why ?? ''))
    rmSync(at(`${session.pid}.json`))
    writeFileSync(at(`${session.pid}.json`), '{', { mode: 0o600 })
    truncateSync(at(`${session.pid}.json`), 100 * 1024 * 1024)
    await until(() => /larger/.test(registry.leftAlone()[0]?.why ?? ''))
    expect(registry.sessions.size).toBe(0)
  })

  test('that others may write to is left alone, and so is a registry', async () => {
    await isKnown()
    // Nobody else gets into the folder: as with the umask of many systems.
    chmodSync(at(`${session.pid}.json`), 0o664)
    await until(() => registry.sessions.get(session.pid) !== undefined)
    chmodSync(at(), 0o755)
    chmodSync(at(`${session.pid}.json`), 0o622)
    expect(await why()).toBe('others may write to it')
    chmodSync(at(`${session.pid}.json`), 0o600)
    await isKnown()
    chmodSync(at(), 0o777)
    await until(() => registry.sessions.size === 0)
  })

  test('that is half written counts as it was', async () => {
    await isKnown()
    const text = JSON.stringify(recordOf(session.pid))
    const before = changes
    writeFileSync(at(`${session.pid}.json`), text.slice(0, 100))
    writeFileSync(at('1.json'), '{"peerProtocol":1}', { mode: 0o600 })
    await until(() => registry.leftAlone().some(({ file }) => file.endsWith('/1.json')))
    expect(registry.sessions.get(session.pid)?.name).toBe('fixer')
    expect(changes).toBe(before)
  })

  test('without its key is left alone', async () => {
    const key = Object.keys(world.files()).find((name) => name.endsWith('.key')) as string
    rmSync(at(key))
    await registry.close()
    registry = new ClaudeRegistry({ home: world.home, onChange: () => {} })
    expect(await why()).toBe('it has no key')
  })

  test('of a process that was killed does not count, and 200 of them do not hide one that lives', async () => {
    await isKnown()
    const record = recordOf(session.pid)
    for (let pid = 900_000; pid < 900_200; pid++)
      writeFileSync(at(`${pid}.json`), JSON.stringify({ ...record, pid }), { mode: 0o600 })
    await until(() => registry.leftAlone().length === 200)
    expect([...registry.sessions.keys()]).toEqual([session.pid])
    const other = await world.begin({ name: 'other' })
    await until(() => registry.sessions.has(other.pid))
    other.kill()
    await until(() => !registry.sessions.has(other.pid))
    expect(existsSync(at(`${other.pid}.json`))).toBe(true)
  })

  test('is found when its home is made after us', async () => {
    rmSync(world.home, { recursive: true })
    await until(() => registry.sessions.size === 0)
    mkdirSync(world.home)
    const other = await world.begin({ name: 'other' })
    await until(() => registry.sessions.has(other.pid))
  })
})
