// Rewritings of an older file that are killed, and one on a full disk: the file is the old one or the new one, whole each time.

import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sleep } from '@agent-relay/prove/harness/processes'
import { smallDiskCommand } from '@agent-relay/prove/scenarios/full-disk'
import { discardRepacked } from '../../../packages/relay/src/daemon/repacking.ts'
import { Database, freeClosedFiles } from '../../../packages/relay/src/store/database.ts'
import { checkIntegrity } from '../../../packages/relay/src/store/integrity.ts'
import { Store } from '../../../packages/relay/src/store/store.ts'

const repacker = fileURLToPath(new URL('../harness/repacker.mjs', import.meta.url))
/** The file has about 5.5 MB, its copy 2: they do not fit together on the small disk. */
const [rowsKept, rowsGone, rowChars, smallDiskMb] = [400, 800, 1_500, 6]

export interface RepackReport {
  kills: number
  /** Killed before the new file was in place, and after. */
  old: number
  fresh: number
  faults: string[]
}

/** A file as versions made it whose files could not shrink, most of it unused. */
function fillOlderFile(path: string): void {
  const database = new Database(path)
  database.exec('PRAGMA auto_vacuum = NONE; CREATE TABLE made (by TEXT); DROP TABLE made')
  const store = new Store(database)
  store.database.transact(() => {
    const add = store.database.prepare('INSERT INTO meta VALUES (?, ?)')
    for (let n = 0; n < rowsKept + rowsGone; n++) add.run(`row ${n}`, 'x'.repeat(rowChars))
  })
  store.database.transact(() => {
    const remove = store.database.prepare('DELETE FROM meta WHERE name = ?')
    for (let n = rowsKept; n < rowsKept + rowsGone; n++) remove.run(`row ${n}`)
  })
  // The rewritings begin with a copy of this one file, without a log.
  store.database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all()
  store.close()
}

/** Opens the file as the next daemon does, and compares it with what was in it. */
async function lookAt(path: string, faults: string[]): Promise<boolean> {
  discardRepacked(path)
  if (checkIntegrity(path) !== 'ok') faults.push(checkIntegrity(path))
  const store = new Store(path)
  const rows = Number(store.database.prepare("SELECT count(*) FROM meta WHERE name LIKE 'row %'").get()?.[0])
  if (rows !== rowsKept) faults.push(`${rows} rows of ${rowsKept}`)
  const { canShrink } = store.freePages
  store.close()
  await freeClosedFiles()
  const left = readdirSync(dirname(path)).filter((name) => name.includes('repacked'))
  faults.push(...left.map((name) => `${name} was left`))
  return canShrink
}

export async function killWhileRepacking(kills: number): Promise<RepackReport> {
  const folder = mkdtempSync(join(tmpdir(), 'relay-repack-'))
  const report: RepackReport = { kills, old: 0, fresh: 0, faults: [] }
  try {
    const kept = join(folder, 'kept.db')
    fillOlderFile(kept)
    let wholeMs = 0
    for (let i = 0; i <= kills && report.faults.length === 0; i++) {
      const place = mkdtempSync(join(folder, 'place-'))
      const path = join(place, 'relay.db')
      const from = performance.now()
      const child = spawn(process.execPath, [repacker, kept, path], { stdio: 'ignore' })
      const ended = new Promise((resolve) => child.once('close', resolve))
      // The first one shows how long it takes.
      if (i > 0) await Promise.race([ended, sleep(wholeMs * (0.2 + 0.8 * Math.random()))])
      if (i > 0) child.kill('SIGKILL')
      await ended
      if (i === 0) wholeMs = performance.now() - from
      // Killed while Node itself was starting.
      const isFresh = existsSync(path) && (await lookAt(path, report.faults))
      if (i === 0 && !isFresh) report.faults.push('the file was not rewritten')
      if (i > 0) report[isFresh ? 'fresh' : 'old']++
      rmSync(place, { recursive: true, force: true })
    }
    return report
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Rewrites a file on a disk that has no space for a copy. Returns what the rewriting said, and the faults of what is there afterwards. */
export async function repackOnFullDisk(unshare: string[]): Promise<{ said: string; faults: string[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'relay-repack-'))
  try {
    const [kept, disk] = [join(folder, 'kept.db'), join(folder, 'disk')]
    mkdirSync(disk)
    fillOlderFile(kept)
    const after = join(folder, 'after')
    mkdirSync(after)
    const [command = '', ...args] = [
      ...smallDiskCommand(unshare, smallDiskMb, disk),
      ...[process.execPath, repacker, kept, join(disk, 'relay.db'), join(after, 'relay.db')],
    ]
    const { stdout, stderr, status } = spawnSync(command, args, { encoding: 'utf8' })
    const faults = status === 0 ? [] : [`it ended with ${status}: ${stderr}`]
    if (await lookAt(join(after, 'relay.db'), faults)) faults.push('the file was rewritten on a full disk')
    return { said: stdout.trim(), faults }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
