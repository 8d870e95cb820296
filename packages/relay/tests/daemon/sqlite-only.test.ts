// A daemon whose workspaces all live on its own machine loads nothing of PostgreSQL.

import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const built = (file: string) => pathToFileURL(join(import.meta.dirname, '../../dist', file)).href

/** A process of its own: what other tests have loaded is not there. It prints what it has loaded of the driver, before and after it is asked for. */
const program = `
  const { Daemon } = await import(${JSON.stringify(built('daemon/daemon.js'))})
  const { createRequire } = await import('node:module')
  const { cache } = createRequire(${JSON.stringify(built('daemon/daemon.js'))})
  const loaded = () => Object.keys(cache).filter((path) => /[\\\\/]pg(-\\w+)?[\\\\/]/.test(path)).length
  const fail = (error) => { throw error }
  const dataDir = process.argv[1]
  const paths = { dataDir, credentialsPath: dataDir + '/credentials.json' }
  const daemon = await Daemon.start({ ...paths, onTrouble: fail, onStop: fail })
  const { workspace } = await daemon.open('alone')
  const before = loaded()
  await import(${JSON.stringify(built('cluster/postgres/connection.js'))}).then(({ withClient }) =>
    withClient({ host: '/nowhere', port: 1, database: 'none', user: 'nobody' }, () => {}).catch(() => {}))
  console.log(JSON.stringify({ before, after: loaded(), isShared: workspace.isShared }))
  await daemon.stop()
`

test('the driver of PostgreSQL is loaded by nobody who shares nothing', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'relay-alone-'))
  try {
    const args = ['--input-type=module', '--eval', program, dataDir]
    const { stdout } = await promisify(execFile)(process.execPath, args)
    const { before, after, isShared } = JSON.parse(stdout) as Record<string, unknown>
    expect([before, isShared]).toEqual([0, false])
    // The look at what is loaded sees it where it is.
    expect(after).toBeGreaterThan(0)
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
})
