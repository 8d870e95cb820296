// No lookup takes a program from the current directory, which a relative or an empty entry of PATH names.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { detectEditors, editors, installContext, programPath } from '@agent-relay/mcp/install'
import { installedPostgres } from '@agent-relay/prove/harness/postgres'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { harnesses } from '../../src/supervisor/harness/index.ts'
import { programFileOf } from '../../src/supervisor/launching.ts'

const before = process.cwd()
let directory: string

/** The current directory is one that has every program that is looked for, as a hostile repository could. */
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'relay-programs-'))
  const programs = [...editors, ...harnesses].flatMap(({ program }) => program ?? [])
  for (const folder of [directory, join(directory, 'bin')]) {
    mkdirSync(folder, { recursive: true })
    for (const name of [...programs, 'initdb', 'pg_ctl'])
      writeFileSync(join(folder, name), '#!/bin/sh\n', { mode: 0o755 })
  }
  process.chdir(directory)
})
afterEach(() => {
  process.chdir(before)
  rmSync(directory, { recursive: true })
})

function found(PATH: string) {
  const env = { PATH, HOME: directory }
  const context = installContext(env)
  const inEditors = editors.map((editor) => programPath(editor, context))
  const inHarnesses = harnesses.map((harness) => programFileOf(harness, [], env, '/'))
  const servers = installedPostgres(PATH).filter((folder) => !folder.startsWith('/usr/lib/'))
  return { programs: [...inEditors, ...inHarnesses].filter(Boolean), servers, detected: detectEditors(context) }
}

test('an entry of PATH that depends on the current directory finds nothing', () => {
  for (const PATH of ['', '.', 'bin', './bin', ['', 'bin', '.'].join(delimiter)])
    expect(found(PATH)).toEqual({ programs: [], servers: [], detected: [] })
  const { programs, servers, detected } = found(['bin', join(directory, 'bin')].join(delimiter))
  expect(programs.length).toBeGreaterThan(5)
  expect(servers).toEqual([join(directory, 'bin')])
  expect(detected.length).toBeGreaterThan(0)
})
