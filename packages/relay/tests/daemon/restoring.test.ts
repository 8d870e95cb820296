// A backup may come from anybody: the parts that are believed, and those that are refused before anything is written or removed.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeIds } from '@agent-relay/sdk/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { hashSecret } from '../../src/broker/sessions/credentials.ts'
import { Workspace } from '../../src/broker/workspace.ts'
import {
  type Backup,
  type PreparedRestore,
  placeWithoutDaemon,
  prepareRestore,
  type RestoreKeyTrust,
  readBackup,
} from '../../src/daemon/backup.ts'
import { BackupWriter } from '../../src/daemon/backup-file.ts'
import { systemClock } from '../../src/machine/clock.ts'
import { CredentialsFile } from '../../src/machine/credentials-file.ts'
import { DataDirectory } from '../../src/machine/data-directory.ts'
import { Database } from '../../src/store/database.ts'
import { copyDatabase } from '../../src/store/snapshot.ts'
import { Store } from '../../src/store/store.ts'
import { loud } from '../broker/loud.ts'

let root: string
let directory: DataDirectory
let credentials: CredentialsFile
let source: string
let key: string
let id: string
let made = 0

const policy = { spawn: 'any', writers: '*', worktree: true } as const

async function begun(path: string, as?: string): Promise<[id: string, key: string]> {
  const workspace = new Workspace({
    ...{ name: 'app', databasePath: path, searchPath: ':memory:' },
    ...{ clock: systemClock, ids: makeIds(), ...loud },
  })
  const made = (await workspace.start(() => {})) as string
  if (as !== undefined) {
    const input = { name: as, type: 'agent', tokenHash: hashSecret('at_theirs'), isProven: false } as const
    await workspace.engine.submit({ rule: 'agent.register', input: input as never, by: as, cause: 'c1' })
    await workspace.engine.submit({ rule: 'workspace.set-policy', input: policy as never, by: as, cause: 'c2' })
  }
  const known: [string, string] = [workspace.id, made]
  workspace.close()
  return known
}

function sql(path: string, text: string): void {
  const database = new Database(path)
  database.exec(text)
  database.close()
}

function backupOf(path: string, note: Record<string, unknown> = {}, name = 'app'): string {
  const file = join(root, `${made++}.tar`)
  copyDatabase(path, `${file}.db`)
  const writer = new BackupWriter(file)
  writer.add(`${file}.db`, { name, id, key, schema: 20, seq: 1, messages: 0, ...note }, [])
  writer.end('1.0.0')
  writer.close()
  return file
}

function prepared(file: string, trust?: RestoreKeyTrust): Promise<PreparedRestore> {
  const backup = readBackup(file)
  return prepareRestore(backup, backup.workspaces[0] as Backup['workspaces'][number], directory, trust)
}

const left = () => {
  const path = join(directory.path, 'restoring')
  return existsSync(path) ? readdirSync(path) : []
}

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'restoring-'))
  directory = new DataDirectory(join(root, 'data'))
  credentials = new CredentialsFile(join(root, 'credentials.json'))
  source = join(root, 'source.db')
  ;[id, key] = await begun(source, 'Eve')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

describe('SQL that is not ours', () => {
  const endless = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS seq FROM n'
  test.each([
    ['a trigger', 'CREATE TRIGGER t AFTER INSERT ON journal BEGIN DELETE FROM tokens; END', 'trigger t on journal'],
    ['a view in the place of a table', `DROP TABLE payloads; CREATE VIEW payloads AS ${endless}`, 'view payloads'],
    ['an index over an expression', 'CREATE INDEX i ON messages (hex(body))', 'index i on messages'],
    ['a table of its own', 'CREATE TABLE more (a)', 'table more'],
  ])('%s is refused by name, and nothing is left', async (_, change, named) => {
    sql(source, change)
    await expect(prepared(backupOf(source))).rejects.toMatchObject({
      refusal: { code: 'file.invalid', details: { why: `app: it has a ${named} that Agent Relay did not make` } },
    })
    expect(left()).toEqual([])
  })

  test('what a schema says calls no function that could do harm', () => {
    const database = new Database(source)
    expect(database.prepare('PRAGMA trusted_schema').get()).toEqual([0])
    database.close()
  })

  test('a table that is missing is told', async () => {
    sql(source, 'DROP TABLE claims')
    await expect(prepared(backupOf(source))).rejects.toThrow(/it lacks the (table|index)/)
  })

  test('a database of a released version is brought up to date, unless it has a trigger', async () => {
    const path = join(root, 'old.db')
    sql(path, readFileSync(new URL('../store/released-0.1.0.sql', import.meta.url), 'utf8'))
    // The fixture has a short one.
    sql(path, `UPDATE meta SET value = '${id}' WHERE name = 'id'`)
    expect(await prepared(backupOf(path))).toMatchObject({ id, isKeyNew: true })
    sql(path, 'CREATE TRIGGER t AFTER INSERT ON workers BEGIN DELETE FROM tokens; END')
    await expect(prepared(backupOf(path))).rejects.toThrow('trigger t on workers')
  })
})

describe('columns with something else in them than we write', () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  const entry = (facts: string, at = '1') =>
    `INSERT INTO journal (seq, at, by, cause, rule, facts, outcome) VALUES (900, ${at}, 'Eve', 'c', 'r', '${facts}', '{}')`
  const worker = (column: string, value: string) => `INSERT INTO workers (id, name, parent, cli, cwd, is_injected, wish,
    status, at, changed_at, task) VALUES ('w', 'W', 'Eve', 'plain', '/', 0, 'run', 'exited', 1, 1, 1);
    UPDATE workers SET ${column} = ${value}`
  const action = `INSERT INTO actions (name, tool, provider, session, description, input_schema, timeout_ms)
    VALUES ('a', 'a', 'Eve', 's', 'x', '[', 1)`
  const run = `INSERT INTO runs (id, agent, parent, harness, status, started_at, contract)
    VALUES ('r', 'Eve', 'Eve', 'loop', 'flying', 1, 1)`
  const approval = (choices: string, how: string) =>
    `INSERT INTO approvals (n, id, agent, vendor, tool, input, is_exact, choices, digest, at, how)
      VALUES (1, 'ap-1', 'Eve', 'claude', 'Bash', 'x', 1, '${choices}', 'd', 1, '${how}')`
  const invocation = `INSERT INTO bodies VALUES (901, 'no JSON'); INSERT INTO invocations (id, action, caller, at, until, input)
    VALUES ('i', 'a', 'Eve', 1, 1, 901)`
  test.each([
    ['journal.facts', entry('{')],
    ['journal.facts', entry('{"type":"message.created"}')],
    ['journal.facts', entry('[7]')],
    ['journal.facts', entry('[{"type":"no.such"}]')],
    ['journal.facts', entry('[{"type":["message.created"]}]')],
    ['journal.facts', entry(deep)],
    ['journal.at', entry('[]', '9007199254740993')],
    ['journal.at', entry('[]', '8640000000000001')],
    ['journal.outcome', "UPDATE journal SET outcome = 'garbage'"],
    ['meta.value', "UPDATE meta SET value = '[' WHERE name = 'policy'"],
    ['meta.value', `UPDATE meta SET value = '{"approve":7}' WHERE name = 'policy'`],
    ['agents.type', "UPDATE agents SET type = 'god'"],
    ['tokens.agent', 'UPDATE tokens SET agent = 9223372036854775807'],
    ['actions.input_schema', action],
    ['invocations.input', invocation],
    ['workers.status', worker('status', "'flying'")],
    ['workers.wish', worker('wish', "'fly'")],
    ['workers.command', worker('command', "'sh'")],
    ['workers.worktree', worker('worktree', "'[]'")],
    ['workers.changed_at', worker('changed_at', '1 << 62')],
    ['runs.status', run],
    ['approvals.choices', approval('{}', 'gone')],
    ['approvals.how', approval('[]', 'somehow')],
  ])('%s: it is refused, by the column', async (column, change) => {
    sql(source, change)
    const why = expect.stringContaining(`app: its column ${column} holds something else than `)
    await expect(prepared(backupOf(source))).rejects.toMatchObject({
      refusal: { code: 'file.invalid', details: { why } },
    })
    expect(left()).toEqual([])
  })

  test('a fact whose fields are not what they must be is refused, by its entry', async () => {
    sql(source, entry('[{"type":"machine.revoked","machine":7}]'))
    const why = 'entry 900 of its journal holds a machine.revoked whose machine is malformed'
    await expect(prepared(backupOf(source))).rejects.toMatchObject({
      refusal: { code: 'file.invalid', details: { why: expect.stringContaining(why) } },
    })
  })

  test('what an older version cannot bring up to date is refused too', async () => {
    const path = join(root, 'old.db')
    sql(path, readFileSync(new URL('../store/released-0.1.0.sql', import.meta.url), 'utf8'))
    sql(path, `UPDATE meta SET value = '${id}' WHERE name = 'id'; UPDATE journal SET facts = '{'`)
    await expect(prepared(backupOf(path))).rejects.toMatchObject({ refusal: { code: 'file.invalid' } })
  })
})

describe('keys, tokens and policy', () => {
  const inside = ({ folder }: PreparedRestore) => {
    const store = new Store(join(folder, 'relay.db'))
    store.rebuild()
    const found = { tokens: store.queries.tokenHashes(), key: store.meta('key'), policy: store.view.policy() }
    store.close()
    return found
  }

  test('of a workspace that is new here none is believed, and what was reset is told', async () => {
    // For an agent that the file does not have yet.
    sql(source, "INSERT INTO tokens (hash, agent, seq) VALUES ('later', 99, 1)")
    const made = await prepared(backupOf(source))
    expect(made).toMatchObject({ isKeyNew: true, reset: { tokens: 2, policy: ['spawn', 'writers'] } })
    expect(inside(made)).toMatchObject({ tokens: [], key: hashSecret(made.key) })
    expect(inside(made).policy).toMatchObject({ spawn: 'none', writers: [], approve: [], worktree: true })
    expect(made.key).not.toBe(key)
  })

  test('its key is kept where that was asked for, and nothing else of it', async () => {
    const made = await prepared(backupOf(source), { keepsKey: true })
    expect(made).toMatchObject({ key, isKeyNew: false, reset: { tokens: 1, policy: ['spawn', 'writers'] } })
  })

  test('one that the owner’s own key opens is as it was', async () => {
    const made = await prepared(backupOf(source, { key: undefined }), { ownersKey: key })
    expect(made).toMatchObject({ key, isKeyNew: false, reset: { tokens: 0, policy: [] } })
    expect(inside(made)).toMatchObject({ tokens: [hashSecret('at_theirs')], policy })
  })

  test('the id alone proves nothing: a file with the id of the owner’s own and another key is not theirs', async () => {
    const made = await prepared(backupOf(source), { ownersKey: 'rk_mine' })
    expect(made).toMatchObject({ isKeyNew: true, reset: { tokens: 1 } })
    expect([key, 'rk_mine']).not.toContain(made.key)
  })
})

describe('a home that is there', () => {
  const home = () => directory.databasePath('home')
  const restore = async () => {
    const made = await prepared(backupOf(source, {}, 'home'))
    placeWithoutDaemon(directory, credentials, 'home', made)
    return made
  }
  const fill = async (as?: string) => {
    mkdirSync(join(directory.path, 'projects', 'home'), { recursive: true })
    const [own, ownKey] = await begun(home(), as)
    credentials.put(own, { name: 'home', key: ownKey, dataDir: directory.realPath })
    return own
  }

  test('gives way while nobody was in it, with its key', async () => {
    const own = await fill()
    const made = await restore()
    expect([credentials.keyOf(own), credentials.keyOf(id)]).toEqual([undefined, made.key])
    expect([directory.hasWorkspace('home'), existsSync(join(directory.path, 'removed'))]).toEqual([true, false])
  })

  test('stays once there was an agent, though nothing was said', async () => {
    const own = await fill('Ann')
    await expect(restore()).rejects.toMatchObject({ refusal: { code: 'workspace.exists' } })
    expect(credentials.keyOf(own)).toMatch(/^rk_/)
  })

  test('stays where the new one is refused, or cannot get there', async () => {
    const own = await fill()
    const at = statSync(home()).ino
    mkdirSync(join(directory.path, 'projects', 'same'), { recursive: true })
    writeFileSync(directory.databasePath('same'), '')
    credentials.put(id, { name: 'same', key: 'rk_same', dataDir: directory.realPath })
    await expect(restore()).rejects.toMatchObject({ refusal: { details: { workspace: 'same' } } })
    expect(() => directory.replaceWorkspace('home', join(root, 'nowhere'))).toThrow('ENOENT')
    expect([statSync(home()).ino, credentials.keyOf(own)?.slice(0, 3)]).toEqual([at, 'rk_'])
  })
})

describe('ids', () => {
  test.each(['__proto__', 'constructor', '', 'w_1'])('%j is not an id, and finds no key', (wrong) => {
    expect(() => readBackup(backupOf(source, { id: wrong }))).toThrow('what it says of "app" is not so')
    expect([credentials.keyOf(wrong), credentials.nameOf(wrong, 'any')]).toEqual([undefined, undefined])
    credentials.put(id, { name: 'app', key, dataDir: 'd' })
    expect([credentials.keyOf(wrong), credentials.keyOf(id)]).toEqual([undefined, key])
  })

  test('one that another data directory has under another key is refused, and its key stays', async () => {
    credentials.put(id, { name: 'theirs', key: 'rk_theirs', dataDir: '/another' })
    const made = await prepared(backupOf(source))
    expect(() => placeWithoutDaemon(directory, credentials, 'app', made)).toThrow('/another/projects/theirs/relay.db')
    expect([credentials.keyOf(id), directory.hasWorkspace('app')]).toEqual(['rk_theirs', false])
  })
})

test('a copy of a shared workspace lives on this machine alone, and says so', async () => {
  const store = new Store(source)
  store.markAsShared('desk', 'copied.', store.journal.lastSeq)
  store.close()
  const made = await prepared(backupOf(source))
  expect(made.wasShared).toBe(true)
  const copy = new Store(join(made.folder, 'relay.db'))
  expect(copy.isShared).toBe(false)
  copy.close()
})
