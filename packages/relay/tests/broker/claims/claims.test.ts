// Claims and their surroundings: a slow file system, and causes of every length in the journal.

import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeIds } from '@agent-relay/sdk/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { until } from '../../../../../test/until.ts'
import type { CallContext } from '../../../src/broker/call.ts'
import { Workspace } from '../../../src/broker/workspace.ts'
import { systemClock } from '../../../src/machine/clock.ts'
import { makeRepository } from '../../work/repository-world.ts'
import { loud } from '../loud.ts'

let cwd: string
let workspace: Workspace
const ids = makeIds()
beforeEach(async () => {
  cwd = realpathSync(mkdtempSync(join(tmpdir(), 'relay-claims-')))
  makeRepository(cwd)
  workspace = new Workspace({
    ...{ name: 'home', databasePath: ':memory:', searchPath: ':memory:', ids, clock: systemClock },
    ...loud,
  })
  await workspace.start(() => {})
  for (const name of ['ada', 'bob']) {
    const input = { name, proven: false, mayRetake: true, isHolder: false, tokenHash: `of ${name}` }
    await workspace.engine.submit({ rule: 'agent.register', input, by: name, cause: ids('c') })
  }
})
afterEach(() => {
  workspace.close()
  rmSync(cwd, { recursive: true, force: true })
})

/** A daemon that has just begun takes it that others may come back: nobody has to be connected. */
const edit = (by: string, file: string) =>
  workspace.claims.edit({ by, id: ids('c') } as CallContext, { cwd, files: [file] }, '')

test('a holder is told also where the path is as long as a path can be, by a cause that every journal takes', async () => {
  const causes: string[] = []
  workspace.hub.listen((entries) => void causes.push(...entries.map(({ cause }) => cause)))
  const deep = (end: string) => `${'a-directory-with-a-long-name/'.repeat(120)}${end}`
  for (const file of [deep('x'), deep('y'), deep('x')]) {
    await edit('ada', file)
    expect((await edit('bob', file)).isDenied).toBe(true)
  }
  // Once for each file.
  await until(() => causes.filter((cause) => cause.startsWith('claim/')).length === 2)
  expect(Math.max(...causes.map((cause) => cause.length))).toBeLessThanOrEqual(1_500)
})

test.runIf(existsSync('/proc/self/cwd'))(
  'an edit of a path that names another file for each process is denied while others hold claims',
  async () => {
    const file = '/proc/self/cwd/a.txt'
    expect(await edit('bob', file)).toEqual({ isDenied: false, met: [] })
    await edit('bob', 'b.txt')
    // One's own claims are in nobody's way but others'.
    expect((await edit('bob', file)).isDenied).toBe(false)
    await edit('ada', 'a.txt')
    const denied = await edit('bob', file)
    expect(denied).toMatchObject({ isDenied: true, met: [] })
    expect(denied.text).toMatch(/^\/proc\/self\/cwd\/a\.txt names another file .* Name the file by its plain path\.$/)
    await workspace.engine.submit({
      rule: 'workspace.set-policy',
      input: { claims: 'warn' },
      by: 'ada',
      cause: ids('c'),
    })
    expect((await edit('bob', file)).isDenied).toBe(false)
  },
)
