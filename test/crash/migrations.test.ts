// A database of a former version is brought up to date by a process that is killed meanwhile: opened again, it has every row that it had.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '../../packages/relay/src/store/database.ts'
import { Store } from '../../packages/relay/src/store/store.ts'
import { ReleasedWorld } from '../../packages/relay/tests/store/released/released-world.ts'
import { sized } from '../size.ts'
import { seeded } from './harness/seeded.ts'

const folder = mkdtempSync(join(tmpdir(), 'relay-migrations-'))
const opener = fileURLToPath(new URL('harness/store-opener.mjs', import.meta.url))
const released = new URL('../../packages/relay/tests/store/released-0.1.0.sql', import.meta.url)
const kills = sized(6, 60)
const seqs = Array.from({ length: 2_000 }, (_, n) => 10_001 + n)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Adds entries to a database of a former version, so that bringing it up to date takes a while. */
function addEntries(database: Database): void {
  const more =
    "INSERT INTO journal (seq, at, by, cause, rule, facts, outcome) VALUES (?, 1, 'ada', 'more ' || ?, 'x', '[]', '{}')"
  const insert = database.prepare(more)
  for (const seq of seqs) insert.run(seq, `${seq}`)
}

/** Of a workspace that was shared before machines judged what others write. */
function formerlyShared(path: string): void {
  const former = new ReleasedWorld('schema-24')
  copyFileSync(former.databasePath('app'), path)
  rmSync(former.world.root, { recursive: true })
  const database = new Database(path)
  const insert = database.prepare("INSERT INTO origins (seq, machine, mark) VALUES (?, 'box', 'm' || ?)")
  database.transact(() => {
    addEntries(database)
    for (const seq of seqs) insert.run(seq, `${seq}`)
  })
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
}

function ofFirstRelease(path: string): void {
  const database = new Database(path)
  database.exec(readFileSync(released, 'utf8'))
  database.transact(() => addEntries(database))
  database.close()
}

const rowsOf = ({ database }: Store) =>
  ['journal', 'origins', 'messages', 'agents', 'members', 'conversations'].map((table) =>
    database.prepare(`SELECT * FROM ${table}`).all(),
  )

/** Answers whether it had ended by itself, and how long after it began it was seen to be over. */
async function openKilled(path: string, afterMs: number): Promise<{ isDone: boolean; ms: number }> {
  const child = spawn(process.execPath, [opener, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  let said = ''
  child.stdout.on('data', (text) => (said += text))
  while (!said.includes('begins')) await once(child.stdout, 'data')
  const began = performance.now()
  await Promise.race([pause(afterMs), ended])
  child.kill('SIGKILL')
  await ended
  return { isDone: said.includes('done'), ms: performance.now() - began }
}

for (const [name, make] of Object.entries({ formerlyShared, ofFirstRelease })) {
  const source = join(folder, `${name}.db`)
  let wanted: unknown
  let wholeMs: number
  beforeAll(async () => {
    make(source)
    const path = join(folder, `${name}-whole.db`)
    copyFileSync(source, path)
    const { isDone, ms } = await openKilled(path, 60_000)
    expect(isDone).toBe(true)
    wholeMs = ms
    const store = new Store(path)
    wanted = rowsOf(store)
    store.close()
  })

  test(`${name}: ${kills} kills while it is brought up to date lose no row`, async () => {
    const random = seeded(`${name} ${kills}`)
    let cut = 0
    for (let i = 0; i < kills; i++) {
      const path = join(folder, `${name}-${i}.db`)
      copyFileSync(source, path)
      if (!(await openKilled(path, random.next() * wholeMs)).isDone) cut++
      const store = new Store(path)
      expect(rowsOf(store)).toEqual(wanted)
      store.close()
    }
    process.stdout.write(`migrations: ${name}, ${cut} of ${kills} cut off\n`)
    // A few may all come too late.
    expect(cut).toBeGreaterThan(sized(-1, 0))
  })
}
