// Rows of workers, worktrees and runs in a backup affect nothing on this disk, whoever made it: nothing is started, removed or written, at the
// daemon's start or by a sweep. The same holds for rows in a file to import, and of other machines.

import { existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RelayClient } from '@agent-relay/sdk'
import { socketPathOf } from '@agent-relay/sdk/internal/discover'
import { makeIds } from '@agent-relay/sdk/protocol'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { Workspace } from '../../src/broker/workspace.ts'
import type { RuleInput, RuleName } from '../../src/core/decide.ts'
import { backupMachine } from '../../src/core/world.ts'
import {
  copyDatabase,
  placeWithoutDaemon,
  prepareRestore,
  type RestoreKeyTrust,
  readBackup,
} from '../../src/daemon/backup.ts'
import { BackupWriter } from '../../src/daemon/backup-file.ts'
import { Daemon } from '../../src/daemon/daemon.ts'
import { importWorkspace } from '../../src/daemon/importing.ts'
import { systemClock } from '../../src/machine/clock.ts'
import { CredentialsFile } from '../../src/machine/credentials-file.ts'
import { DataDirectory } from '../../src/machine/data-directory.ts'
import { readDatabaseContents } from '../../src/store/contents.ts'
import { Database } from '../../src/store/database.ts'
import { Store } from '../../src/store/store.ts'
import { loud } from '../broker/loud.ts'
import { git, leaveWork, makeRepository, oursIn, personsWork, write } from '../work/repository-world.ts'

let root: string
let repository: string
let trace: string
let directory: DataDirectory
let credentials: CredentialsFile
let source: string
let key: string
const ids = makeIds()

beforeEach(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'restored-')))
  repository = join(root, 'repository')
  trace = join(root, 'trace')
  makeRepository(repository)
  leaveWork(repository)
  directory = new DataDirectory(join(root, 'data'))
  credentials = new CredentialsFile(join(root, 'data/credentials.json'))
  source = join(root, 'source.db')
  await fill()
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

/** A worker that waits for its start, one that runs, one that has left the main checkout as its worktree, and a run. */
async function fill(): Promise<void> {
  const workspace = new Workspace({
    ...{ name: 'app', databasePath: source, searchPath: ':memory:', clock: systemClock, ids, ...loud },
  })
  key = (await workspace.start(() => {})) as string
  const give = async <R extends RuleName>(rule: R, by: string, input: RuleInput<R>) => {
    const reply = await workspace.engine.submit({ rule, input, by, cause: ids('c') })
    if ('refusal' in reply) throw new Error(reply.refusal.message)
    return reply.outcome as { id: string }
  }
  const proof = { proven: false, mayRetake: true, isHolder: false, tokenHash: 'hash' }
  await give('agent.register', 'Lead', { name: 'Lead', ...proof })
  const base = git(repository, 'rev-parse', 'HEAD')
  const worktree = { repository, path: repository, branch: 'main', base }
  const command = ['touch', trace]
  const asked = { cli: 'plain', command, cwd: repository }
  const wish = { cli: 'plain', command, cwd: repository, isInjected: false, worktree, asked, task: 'Do it.' }
  await give('worker.spawn', 'Lead', { name: 'Waits', ...wish })
  const { id: running } = await give('worker.spawn', 'Lead', { name: 'Runs', ...wish })
  await workspace.workers.reports.report({ id: running, status: 'ready', pid: 1 })
  const { id: gone } = await give('worker.spawn', 'Lead', { name: 'Gone', ...wish })
  await workspace.workers.reports.report({ id: gone, status: 'exited' })
  const run = { contract: 'Do it.', harness: 'claude', cwd: repository, worktree: true, tokenHash: 'h' } as const
  await give('run.start', 'Lead', run as never)
  workspace.close()
}

function sql(text: string): void {
  const database = new Database(source)
  database.exec(text)
  database.close()
}

/** Restored, and not yet served. */
async function restore(trust: RestoreKeyTrust = {}) {
  const file = join(root, 'app.tar')
  copyDatabase(source, `${file}.db`)
  const { id, ...contents } = readDatabaseContents(`${file}.db`)
  const writer = new BackupWriter(file)
  writer.add(`${file}.db`, { name: 'app', id: id as string, key, ...contents }, [])
  writer.end('1.0.0')
  writer.close()
  const backup = readBackup(file)
  const [kept] = backup.workspaces
  const made = await prepareRestore(backup, kept as NonNullable<typeof kept>, directory, trust)
  placeWithoutDaemon(directory, credentials, 'app', made)
  return made
}

/** A daemon that serves it, and its owner with the key. */
async function serve(withKey: string): Promise<RelayClient> {
  const dataDir = directory.path
  const { NODE_OPTIONS: _, ...env } = process.env
  const start = {
    dataDir,
    credentialsPath: join(dataDir, 'credentials.json'),
    env,
    onTrouble: () => {},
    onStop: () => {},
  }
  const daemon = (await Daemon.start(start)) as Daemon
  await daemon.open('app')
  const client = new RelayClient({
    ...{ agentName: 'kim', socketPath: socketPathOf(dataDir, 'app'), key: withKey, autoConnect: false },
  })
  onTestFinished(async () => {
    await client.disconnect().catch(() => {})
    await daemon.stop()
  })
  await client.connect()
  return client
}

const rows: [what: string, change: string][] = [
  ['as it was made', ''],
  [
    'with rows that were changed afterwards',
    "UPDATE workers SET status = 'ready', wish = 'run', pid = NULL, task = 99999 + task",
  ],
  ['with rows of workers that were never started', "UPDATE workers SET status = 'exited', pid = NULL"],
  ['with rows of another machine', "UPDATE workers SET machine = 'laptop'; UPDATE runs SET machine = 'laptop'"],
]

describe.each(rows)('a backup %s', (_, change) => {
  test.each([
    ["somebody else's", false],
    ["the owner's own", true],
  ])('%s: nothing of it is started or removed', async (_, isOwn) => {
    if (change !== '') sql(change)
    const before = personsWork(repository)
    const made = await restore(isOwn ? { ownersKey: key } : {})
    expect([made.isKeyNew, made.worktrees]).toEqual([!isOwn, 3])
    const client = await serve(made.key)
    const { workers } = await client.call('worker.list', { all: true })
    expect(workers.map(({ status, worktree }) => [status, worktree])).toEqual(Array(3).fill(['exited', undefined]))
    const { runs } = await client.call('run.list', {})
    expect(runs.map(({ status }) => status)).toEqual(['stopped'])
    expect(await client.call('worker.sweep', {})).toEqual({ removed: [], kept: [] })
    const backup = 'The worker came with a backup, so nothing on this disk is read or removed for it.'
    await expect(client.call('worker.sweep', { name: 'Gone', discard: true })).rejects.toThrow(backup)
    await expect(client.call('worker.diff', { name: 'Gone' })).rejects.toThrow(backup)
    for (const name of ['Waits', 'Runs', 'Gone'])
      await expect(client.call('worker.retry', { name })).rejects.toThrow(`"${name}" ran on ${backupMachine}`)
    await expect(client.call('run.start', { again: runs[0]?.id as string })).rejects.toThrow(
      `carried out on ${backupMachine}`,
    )
    // One that works there and goes takes the worktrees of those along that went before it.
    const guest = { name: 'Guest', cli: 'plain' as const, command: ['sleep', '100'], cwd: repository }
    await client.call('worker.spawn', guest)
    await client.call('worker.release', { name: 'Guest' })
    expect([existsSync(trace), personsWork(repository)]).toEqual([false, before])
    expect(existsSync(join(repository, '.git'))).toBe(true)
  })
})

test('the tables are the same when the journal is replayed', async () => {
  const { folder: _, ...made } = await restore()
  expect(made.worktrees).toBe(3)
  const store = new Store(directory.databasePath('app'))
  const read = () => [store.view.workers.latest(9), store.view.runs.running()]
  const before = read()
  store.rebuild()
  expect(read()).toEqual(before)
  expect(store.view.workers.latest(9).map(({ machine }) => machine)).toEqual(Array(3).fill(backupMachine))
  store.close()
})

test('a worker that is hired in a restored workspace has its worktree, and loses it as any other', async () => {
  const { key: owners } = await restore()
  const client = await serve(owners)
  const wish = { name: 'New', cli: 'plain' as const, command: ['sleep', '100'], cwd: repository, worktree: true }
  const { worker } = await client.call('worker.spawn', wish)
  expect(worker.worktree?.branch).toBe('relay/New')
  await client.call('worker.release', { name: 'New' })
  await until(() => oursIn(repository).paths.length === 0)
})

test('an import takes messages in, and neither workers nor runs', async () => {
  const file = join(root, 'events.jsonl')
  const fact = { type: 'worker.wished', id: 'w_1', worker: 'Gone', parent: 'Lead', cli: 'plain', cwd: repository }
  const event = { seq: 1, type: 'worker.wished', at: new Date().toISOString(), by: 'Lead', fact }
  const id = ids('m')
  const message = { id, seq: 2, ts: new Date().toISOString(), from: 'Lead', to: '*', kind: 'status', body: 'hello' }
  writeFileSync(file, [event, message].map((line) => JSON.stringify(line)).join('\n'))
  const made = await importWorkspace(file, 'app', directory)
  expect(made).toMatchObject({ messages: 1, leftOut: 1 })
  const store = new Store(join(made.folder, 'relay.db'))
  expect([store.view.workers.latest(9), store.view.runs.running()]).toEqual([[], []])
  store.close()
})

test('the row of another machine is not looked at on this one', async () => {
  const { key: owners } = await restore()
  write(repository, 'draft.txt', 'not for others\n')
  const worktree = { repository, path: repository, branch: 'main', base: git(repository, 'rev-parse', 'HEAD') }
  const database = new Database(directory.databasePath('app'))
  database.exec(`UPDATE workers SET machine = 'laptop', worktree = '${JSON.stringify(worktree)}'`)
  database.close()
  const client = await serve(owners)
  const elsewhere = 'The worktree of "Gone" is on laptop. Ask there.'
  await expect(client.call('worker.diff', { name: 'Gone' })).rejects.toThrow(elsewhere)
  const { workers } = await client.call('worker.changes', {})
  expect(workers.find(({ name }) => name === 'Gone')?.error).toBe(elsewhere)
  const { kept } = await client.call('worker.sweep', { name: 'Gone', discard: true })
  expect(kept.map(({ why }) => why)).toEqual(['it is on another machine'])
})
