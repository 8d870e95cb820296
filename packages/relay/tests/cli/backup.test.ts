// `workspace backup` and `workspace restore`: one file with workspaces in use, and the same workspaces in another place.

import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readDatabaseContents } from '../../src/store/contents.ts'
import { World } from './cli-world.ts'

let world: World
let file: string
const at = (name: string) => join(world.root, name)
const elsewhere = (name: string) => ({ env: { RELAY_DATA_DIR: at(name) } })
type Kept = { name: string; id: string; messages: number; withKey: boolean; isKeyNew: boolean }
const restored = (name: string, ...more: string[]) =>
  world.json<{ workspaces: Kept[] }>(['workspace', 'restore', file, ...more], elsewhere(name))

/** A byte of the second database is another; what the first says is so. */
function hostile(backup: Buffer): Buffer {
  const head = backup.lastIndexOf('home/relay.db')
  backup[head + 512 + 8_000] = 0x55
  return backup
}

beforeAll(async () => {
  world = new World()
  await world.serve()
  await world.run(['workspace', 'open', 'home'])
  await world.run(['send', '*', 'to everyone'])
  await world.run(['inbox', '--as', 'Ann'])
  await world.run(['send', 'Ann', 'are you there?'])
  file = at('all.tar')
})
afterAll(() => world.close())

test('it copies all workspaces while they are in use, for its owner alone, and without their keys', async () => {
  const { code, stdout, stderr } = await world.run(['workspace', 'backup', file])
  expect([code, stderr]).toEqual([0, expect.stringContaining('was read back: it is whole.\nTheir keys are not in it')])
  expect(stdout).toMatch(/^app +2 .* not in it$/m)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readFileSync(file).includes('rk_')).toBe(false)
  const names = execFileSync('tar', ['tf', file], { encoding: 'utf8' }).trim().split('\n')
  expect(names).toEqual(['app/relay.db', 'app/workspace.json', 'home/relay.db', 'home/workspace.json', 'backup.json'])
  // Nothing is left beside it.
  expect(readdirSync(world.root).filter((name) => name.startsWith('.'))).toEqual([])
})

test('it overwrites nothing', async () => {
  const before = readFileSync(file)
  const { code, stderr } = await world.run(['workspace', 'backup', file])
  expect([code, stderr]).toEqual([1, `There is a file ${file} already, and it stays as it is. Name another.\n`])
  expect(readFileSync(file).equals(before)).toBe(true)
  const { stderr: here } = await world.run(['workspace', 'restore', file])
  expect(here).toContain('app is here already, and nothing is overwritten.')
})

test('a place where no file can be made is named, with what helps', async () => {
  const there = at('plain')
  writeFileSync(there, 'a file')
  const refused = async (path: string) => {
    const [backup, exported] = await Promise.all([
      world.run(['workspace', 'backup', path]),
      world.run(['workspace', 'export', '--to', path]),
    ])
    expect([exported.code, exported.stderr]).toEqual([backup.code, backup.stderr])
    return [backup.code, backup.stderr]
  }
  const folder = at('not yet/there')
  expect(await refused(join(folder, 'x.tar'))).toEqual([
    2,
    `${folder}/x.tar cannot be made: there is no directory ${folder}. Make it first: mkdir -p '${folder}'\n`,
  ])
  expect(await refused(join(there, 'x.tar'))).toEqual([
    2,
    `${there}/x.tar cannot be made: ${there} is a file and no directory. Name another place.\n`,
  ])
  expect(await refused(world.cwd)).toEqual([1, `${world.cwd} is a directory. Name a file in it.\n`])
  for (const [command, ...name] of [['restore'], ['import', 'copy']]) {
    const { code, stderr } = await world.run(['workspace', command as string, world.cwd, ...name])
    expect([code, stderr]).toEqual([1, `${world.cwd} is a directory. Name a file in it.\n`])
  }
  expect(readdirSync(world.root).filter((name) => name.startsWith('.'))).toEqual([])
})

test('what it holds is said, and changes nothing', async () => {
  const { stdout } = await world.run(['workspace', 'restore', file, '--list'], elsewhere('listed'))
  expect(stdout).toMatch(/^app +2 /m)
  expect(existsSync(at('listed/projects'))).toBe(false)
})

test('without a daemon it is restored with a new key, the same id, and every message unread as before', async () => {
  const { workspaces } = await restored('alone')
  expect(workspaces).toMatchObject([
    { name: 'app', messages: 2, isKeyNew: true },
    { name: 'home', messages: 0, isKeyNew: true },
  ])
  const database = join(at('alone'), 'projects', 'app', 'relay.db')
  expect(readDatabaseContents(database)).toMatchObject({ id: workspaces[0]?.id, messages: 2 })
  const key = await world.run(['workspace', 'key', 'app'], elsewhere('alone'))
  expect(key.stdout).toMatch(/^rk_/)
  // And a daemon opens it.
  await world.launch(['daemon', 'start', '--project', 'app'], elsewhere('alone'))
  const inbox = await world.run(['inbox', '--as', 'Ann', '--project', 'app'], elsewhere('alone'))
  expect(inbox.stdout).toContain('are you there?')
  await world.run(['daemon', 'stop'], elsewhere('alone'))
})

test('with a daemon, keys and all; a home in which nothing was said gives way', async () => {
  const keyed = at('keyed.tar')
  const { workspaces } = await world.json<{ workspaces: Kept[] }>(['workspace', 'backup', keyed, '--with-keys'])
  expect(workspaces.map(({ withKey }) => withKey)).toEqual([true, true])
  await world.launch(['daemon', 'start', '--project', 'home'], elsewhere('served'))
  const keep = ['workspace', 'restore', keyed, '--keep-keys']
  const back = await world.json<{ workspaces: Kept[] }>(keep, elsewhere('served'))
  expect(back.workspaces.map(({ isKeyNew }) => isKeyNew)).toEqual([false, false])
  for (const name of ['app', 'home']) {
    const [here, there] = await Promise.all([
      world.run(['workspace', 'key', name]),
      world.run(['workspace', 'key', name], elsewhere('served')),
    ])
    expect(there.stdout).toBe(here.stdout)
  }
  const { stdout } = await world.run(['search', 'everyone', '--project', 'app'], elsewhere('served'))
  expect(stdout).toContain('to everyone')
  await world.run(['daemon', 'stop'], elsewhere('served'))
})

test('keys in the file are not believed by themselves, and what was reset is said', async () => {
  const { stderr } = await world.run(['workspace', 'restore', at('keyed.tar'), 'app'], elsewhere('careful'))
  expect(stderr).toContain(
    'Workspace app is restored, with 2 messages. It has a new key: agent-relay workspace key app',
  )
  expect(stderr).toMatch(/No key of yours opened it, so \d+ tokens? of its agents (was|were) revoked\.$/m)
  const [here, there] = await Promise.all([
    world.run(['workspace', 'key', 'app']),
    world.run(['workspace', 'key', 'app'], elsewhere('careful')),
  ])
  expect(there.stdout).not.toBe(here.stdout)
})

test('a home in which somebody was stays, and what was prepared for another does not', async () => {
  await world.launch(['daemon', 'start', '--project', 'home'], elsewhere('lived'))
  await world.run(['inbox', '--as', 'Ann', '--project', 'home'], elsewhere('lived'))
  const { code, stderr } = await world.run(['workspace', 'restore', file], elsewhere('lived'))
  expect([code, stderr]).toEqual([1, expect.stringContaining('home is here already, and nothing is overwritten.')])
  expect(readdirSync(join(at('lived'), 'projects'))).toEqual(['home'])
  // The second of two is refused once the first is prepared: its key must not stay behind.
  const again = at('again.tar')
  writeFileSync(again, hostile(readFileSync(file)))
  const refused = await world.run(['workspace', 'restore', again], elsewhere('half'))
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('home')])
  expect([readdirSync(join(at('half'), 'restoring')), existsSync(at('half/projects'))]).toEqual([[], false])
  await world.run(['daemon', 'stop'], elsewhere('lived'))
})

test('one that cannot take its place: those before it stay, and are told', async () => {
  // Home is here already, under another name.
  const renamed = async (name: string) => {
    await restored(name, 'home')
    renameSync(join(at(name), 'projects/home'), join(at(name), 'projects/house'))
    const keys = join(at(name), 'credentials.json')
    writeFileSync(keys, readFileSync(keys, 'utf8').replace('"home"', '"house"'))
    expect((await world.run(['workspace', 'key', 'house'], elsewhere(name))).stdout).toMatch(/^rk_/)
  }
  await renamed('stopped')
  const { code, stderr } = await world.run(['workspace', 'restore', file], elsewhere('stopped'))
  expect(code).toBe(1)
  expect(stderr).toContain(
    'Workspace app is restored, with 2 messages. It has a new key: agent-relay workspace key app',
  )
  expect(stderr).toContain('Workspace home is not restored: A workspace "house" exists already.')
  expect(stderr).toMatch(
    /^What was restored stays. The rest, once this is fixed: agent-relay workspace restore .*all.tar'? home$/m,
  )
  expect(readdirSync(join(at('stopped'), 'projects')).sort()).toEqual(['app', 'house'])
  expect(readdirSync(join(at('stopped'), 'restoring'))).toEqual([])
  // A program reads the same.
  await renamed('read')
  const answer = await world.run(['workspace', 'restore', file, '--json'], elsewhere('read'))
  expect(answer.code).toBe(1)
  expect(JSON.parse(answer.stdout)).toMatchObject({
    workspaces: [{ name: 'app', messages: 2, isKeyNew: true }],
    error: { code: 'workspace.exists', workspace: 'home', message: expect.stringContaining('"house" exists already') },
  })
})

test('one whose database was lost comes back under its key, and what lay beside it is kept', async () => {
  await restored('lost', 'app')
  const key = await world.run(['workspace', 'key', 'app'], elsewhere('lost'))
  const folder = join(at('lost'), 'projects', 'app')
  rmSync(join(folder, 'relay.db'))
  writeFileSync(join(folder, 'note'), 'mine')
  const { workspaces } = await restored('lost', 'app')
  // The key of then is not the one in the backup: its hash is that of before the first restoring.
  expect(workspaces[0]).toMatchObject({ messages: 2, isKeyNew: true })
  expect((await world.run(['workspace', 'key', 'app'], elsewhere('lost'))).stdout).not.toBe(key.stdout)
  const [aside = ''] = readdirSync(join(at('lost'), 'damaged'))
  expect(readFileSync(join(at('lost'), 'damaged', aside, 'app', 'note'), 'utf8')).toBe('mine')
})

test('a restoring that was cut off before its key was kept is finished by the next daemon', async () => {
  const { workspaces } = await restored('cut', 'app')
  const folder = join(at('cut'), 'projects', 'app')
  // As the end of the process leaves it.
  const [id, key] = [workspaces[0]?.id as string, 'rk_cut']
  writeFileSync(join(folder, 'beginning'), JSON.stringify({ id, key }))
  writeFileSync(join(at('cut'), 'credentials.json'), '{"workspaces":{}}')
  mkdirSync(join(at('cut'), 'restoring', 'w-left'), { recursive: true })
  await world.launch(['daemon', 'start', '--project', 'app'], elsewhere('cut'))
  expect((await world.run(['workspace', 'key', 'app'], elsewhere('cut'))).stdout).toBe('rk_cut\n')
  expect([existsSync(join(folder, 'beginning')), existsSync(join(at('cut'), 'restoring'))]).toEqual([false, false])
  await world.run(['daemon', 'stop'], elsewhere('cut'))
})

describe('a file that is not a whole backup is refused, and nothing is changed', () => {
  const broken = (change: (path: string) => void) => async () => {
    const path = at('broken.tar')
    writeFileSync(path, readFileSync(file))
    change(path)
    const { code, stderr } = await world.run(['workspace', 'restore', path], elsewhere('broken'))
    expect([code, stderr]).toEqual([2, expect.stringContaining('broken.tar is not a whole backup: ')])
    expect(existsSync(join(at('broken'), 'projects'))).toBe(false)
    const left = join(at('broken'), 'restoring')
    expect(existsSync(left) ? readdirSync(left) : []).toEqual([])
  }
  const changed = (offset: number, byte: number) => (path: string) => {
    const bytes = readFileSync(path)
    bytes[offset] = byte
    writeFileSync(path, bytes)
  }
  test(
    'cut off',
    broken((path) => truncateSync(path, statSync(path).size - 4_096)),
  )
  test(
    'another file',
    broken((path) => writeFileSync(path, 'PK\u0003\u0004'.repeat(500))),
  )
  test(
    'empty',
    broken((path) => truncateSync(path, 0)),
  )
  test('a byte of a database', broken(changed(512 + 8_000, 0x55)))
  test('a name that leads elsewhere', broken(changed(0, '.'.charCodeAt(0))))
})
