// `workspace prune`: old and finished events go into the archive of a workspace in use, and the command's report.

import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { gunzipSync } from 'node:zlib'
import type { OutputOf } from '@agent-relay/sdk/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { World } from './cli-world.ts'

type Event = OutputOf<'event.list'>['events'][number]

let world: World
let folder: string

const exported = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await world.run(['workspace', 'export', ...args])
  expect([code, stderr]).toEqual([0, archives().length === 0 ? '' : expect.stringContaining('were pruned')])
  return stdout
}
const eventsOf = (text: string) => text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Event]))
const bodies = (events: Event[]) => events.flatMap(({ message }) => message?.body ?? [])
const archives = () => (existsSync(join(folder, 'archive')) ? readdirSync(join(folder, 'archive')).sort() : [])
const archived = (name: string) => gunzipSync(readFileSync(join(folder, 'archive', name))).toString()
const prune = (...args: string[]) => world.run(['workspace', 'prune', ...args])

beforeAll(async () => {
  world = new World()
  await world.serve()
  for (const name of ['Ann', 'Bob']) await world.run(['inbox', '--as', name])
  for (let i = 1; i <= 20; i++) await world.run(['send', 'Bob', `one ${i}`, '--as', 'Ann'])
  await world.run(['inbox', '--as', 'Bob', '--limit', '50'])
  await world.run(['send', 'Bob', 'unread \u202e', '--as', 'Ann'])
  await world.run(['send', '#general', 'for all', '--as', 'Ann'])
  const { workspaces } = await world.json<OutputOf<'workspace.list'>>(['workspace', 'list'])
  folder = workspaces.find(({ name }) => name === 'app')?.path as string
})
afterAll(() => world.close())

test('it must be said how old, in a unit', async () => {
  for (const older of [[], ['--older', '90'], ['--older', '1w'], ['--older', '-1d']]) {
    const { code, stderr } = await prune(...older)
    expect([code, stderr]).toEqual([2, expect.stringContaining('90d')])
  }
})

test('a dry run says what would go, and changes nothing', async () => {
  const before = await exported('--events')
  const { code, stdout } = await prune('--older', '0s', '--dry-run')
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(/^Would be archived: 20 messages .* Nothing was changed\.\n$/),
  ])
  expect(await exported('--events')).toBe(before)
  expect(archives()).toEqual([])
  expect((await prune('--older', '90d')).stdout).toBe('Workspace app has no finished events that old.\n')
})

test('nothing is deleted unasked', async () => {
  const { code, stderr } = await prune('--older', '0s', '--delete')
  expect([code, stderr]).toEqual([2, expect.stringContaining('--yes')])
})

test('what is over is in the archive, the rest in the workspace, and together they are what there was', async () => {
  const before = eventsOf(await exported('--events'))
  const pruned = await world.json<OutputOf<'workspace.prune'>>(['workspace', 'prune', 'app', '--older', '0s'])
  expect(pruned).toMatchObject({ workspace: 'app', messages: 20, path: folder })
  const [file = ''] = archives()
  expect([pruned.archive?.file, pruned.archive?.bytes]).toEqual([file, statSync(join(folder, 'archive', file)).size])
  expect(statSync(join(folder, 'archive')).mode & 0o777).toBe(0o700)
  expect(statSync(join(folder, 'archive', file)).mode & 0o777).toBe(0o600)
  const [left, gone] = [eventsOf(await exported('--events')), eventsOf(archived(file))]
  expect(gone).toHaveLength(pruned.events)
  expect(bodies(left)).toEqual(['unread \u202e', 'for all'])
  const inOrder = (events: Event[]) => events.toSorted((a, b) => a.seq - b.seq).map((event) => JSON.stringify(event))
  expect(inOrder([...left, ...gone]).toSorted()).toEqual(inOrder(before).toSorted())
})

test('what waits is still there, and what comes gets the next number', async () => {
  const { stdout } = await world.run(['inbox', '--as', 'Bob', '--limit', '50'])
  expect(stdout).toContain('unread')
  expect(stdout).not.toContain('one 20')
  await world.run(['send', 'Bob', 'more', '--as', 'Ann'])
  const sent = eventsOf(await exported('--events', '--conversation', '@Ann,Bob')).filter(({ message }) => message)
  expect(sent.map(({ fact }) => (fact as { n: number }).n)).toEqual([21, 22])
})

test('search and status know what is left; events say what is missing', async () => {
  expect((await world.json<{ messages: unknown[] }>(['search', 'one'])).messages).toEqual([])
  expect((await world.json<{ messages: number }>(['status'])).messages).toBe(3)
  const { stderr } = await world.run(['events', '--since', '0', '--limit', '3'])
  expect(stderr).toContain('were pruned')
  expect((await world.run(['events', '--limit', '1'])).stderr).not.toContain('were pruned')
})

test('what was pruned is read by the same commands, also where its writing was cut off', async () => {
  const path = join(folder, 'archive', archives()[0] as string)
  const whole = readFileSync(path)
  writeFileSync(join(folder, 'archive', '9-cut-off.jsonl.gz'), whole.subarray(0, whole.length - 20), { mode: 0o600 })
  type Page = { events: Event[]; more: number }
  const events = await world.json<Page>(['events', '--archive', '--type', 'message.*', '--limit', '2'])
  expect([bodies(events.events), events.more]).toEqual([['one 19', 'one 20'], 18])
  const first = await world.json<Page>([
    'events',
    '--archive',
    '--since',
    '0',
    '--type',
    'message.created',
    '--limit',
    '1',
  ])
  expect(bodies(first.events)).toEqual(['one 1'])
  const found = await world.json<{ messages: { body: string }[] }>(['search', 'ONE 7', '--archive', '--from', 'Ann'])
  expect(found.messages.map(({ body }) => body)).toEqual(['one 17', 'one 7'])
  expect((await world.run(['search', 'unread', '--archive'])).stderr).toContain('Nothing found.')
  expect((await world.run(['events', '--archive', '--follow'])).code).toBe(2)
  rmSync(join(folder, 'archive', '9-cut-off.jsonl.gz'))
})

test('the refusal of a message that was pruned says which file has it, and what reads the file', async () => {
  const [file = ''] = archives()
  const [{ message } = {}] = eventsOf(archived(file)).filter((event) => event.message)
  const { code, stderr } = await world.run(['send', 'Ann', 'late', '--reply-to', message?.id as string, '--as', 'Bob'])
  expect([code, stderr]).toEqual([1, expect.stringContaining(`archive/${file}`)])
  expect(stderr).toContain('search WORDS --archive')
  const other = await world.run(['send', 'Ann', 'late', '--reply-to', 'm_nothing', '--as', 'Bob'])
  expect(other.stderr).not.toContain('archive')
})

test('a backup has the archive, and a restore brings it back, whole', async () => {
  const [file = ''] = archives()
  const backup = join(world.root, 'pruned.tar')
  expect((await world.run(['workspace', 'backup', backup])).code).toBe(0)
  const second = join(world.root, 'second')
  const restored = await world.run(['workspace', 'restore', backup], { env: { RELAY_DATA_DIR: second, HOME: second } })
  expect([restored.code, restored.stderr]).toEqual([0, expect.anything()])
  const copy = join(second, 'projects', 'app', 'archive', file)
  expect(readFileSync(copy).equals(readFileSync(join(folder, 'archive', file)))).toBe(true)
  expect([statSync(copy).mode & 0o777, statSync(join(second, 'projects', 'app', 'archive')).mode & 0o777]).toEqual([
    0o600, 0o700,
  ])
  // One byte of the archive is another.
  const bytes = readFileSync(backup)
  const at = bytes.indexOf(readFileSync(copy).subarray(0, 64)) + 40
  bytes[at] = (bytes[at] as number) ^ 1
  writeFileSync(join(world.root, 'changed.tar'), bytes)
  const third = { env: { RELAY_DATA_DIR: join(world.root, 'third'), HOME: join(world.root, 'third') } }
  const refused = await world.run(['workspace', 'restore', join(world.root, 'changed.tar')], third)
  expect([refused.code === 0, refused.stderr]).toEqual([false, expect.stringContaining('archive of app')])
})

test('the policy says how long what is over is kept, until it keeps it for ever', async () => {
  const policy = (...args: string[]) => world.run(['workspace', 'policy', ...args])
  for (const wrong of ['1h', '0d', 'off', '90'])
    expect(await policy('set', '--keep', wrong)).toMatchObject({ code: 2, stderr: expect.stringContaining('forever') })
  expect((await policy('set', '--keep', '90d')).stdout).toContain('90d: finished events older')
  expect((await policy('get')).stdout).toContain('90d: finished events older')
  expect((await world.run(['status'])).stdout).toContain('90d: finished events older')
  expect((await policy('set', '--claims', 'warn')).stdout).toContain('90d')
  expect((await policy('set', '--keep', 'forever')).stdout).toContain('forever: events stay')
  expect((await world.run(['status'])).stdout).not.toContain('keep')
})

test('status says how large the files are', async () => {
  const sizeOf = (...path: string[]) => statSync(join(folder, ...path)).size
  const archive = archives().reduce((sum, name) => sum + sizeOf('archive', name), 0)
  expect(archive).toBeGreaterThan(0)
  // The daemon may move a part of its log into the database meanwhile.
  await expect
    .poll(async () => {
      const sizes = { database: sizeOf('relay.db'), log: sizeOf('relay.db-wal'), archive }
      const { bytes } = await world.json<OutputOf<'workspace.status'>>(['status'])
      return isDeepStrictEqual({ ...bytes, search: 0 }, { ...sizes, search: 0 })
    })
    .toBe(true)
  const { stdout } = await world.run(['status'])
  const size = String.raw`[\d.]+ [KM]?B`
  expect(stdout).toMatch(new RegExp(`^size +database ${size}, log ${size}, search ${size}, archive ${size}$`, 'm'))
})

test('an archive becomes a workspace of its own', async () => {
  const file = join(world.root, 'old.jsonl')
  writeFileSync(file, archived(archives()[0] as string))
  const made = await world.json<{ messages: number }>(['workspace', 'import', file, 'old'])
  expect(made.messages).toBe(20)
})

test('a second one goes into a file of its own; what is deleted goes nowhere', async () => {
  await world.run(['inbox', '--as', 'Bob', '--limit', '50'])
  expect((await prune('--older', '0s')).stdout).toMatch(/^Archived: 1 message /)
  expect(archives()).toHaveLength(2)
  await world.run(['send', 'Bob', 'last', '--as', 'Ann'])
  await world.run(['inbox', '--as', 'Bob', '--limit', '50'])
  const { code, stdout } = await prune('--older', '0s', '--delete', '--yes')
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^Deleted: 1 message /)])
  expect(archives()).toHaveLength(2)
})

test('where messages stay it is said who has not read them', async () => {
  for (const text of ['a', 'b', 'c']) await world.run(['send', '#general', text, '--as', 'Ann'])
  const { stderr } = await prune('--older', '0s')
  expect(stderr).toMatch(/#general: \d older messages stay, since .*Bob.* has not read number \d/)
})
