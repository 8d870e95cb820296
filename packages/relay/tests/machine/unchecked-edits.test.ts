// Notes of unchecked edits: each is taken once, by its own workspace, and no other file there stands in the way.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spoolName } from '@agent-relay/sdk/internal/discover'
import { limits } from '@agent-relay/sdk/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { removeOldEditNotes, takeUncheckedEdits } from '../../src/machine/unchecked-edits.ts'

let hooks: string
let ours: string
let theirs: string
beforeEach(() => {
  hooks = mkdtempSync(join(tmpdir(), 'relay-late-'))
  ours = join(hooks, 'spool', spoolName('/ours'))
  theirs = join(hooks, 'spool', spoolName('/theirs'))
  for (const folder of [ours, theirs]) mkdirSync(folder, { recursive: true })
})
afterEach(() => rmSync(hooks, { recursive: true, force: true }))

const proof = 'a'.repeat(64)
const note = (socket: string, file = 'x.txt') => JSON.stringify({ at: 1_000, cwd: '/', files: [file], proof, socket })
const age = (path: string, ms: number) => utimesSync(path, new Date(Date.now() - ms), new Date(Date.now() - ms))

test('a directory, a link and nonsense are removed, and the notes beside them are taken', () => {
  mkdirSync(join(ours, 'a.json', 'inside'), { recursive: true })
  const elsewhere = join(hooks, 'elsewhere')
  mkdirSync(elsewhere)
  symlinkSync(elsewhere, join(ours, 'b.json'))
  writeFileSync(join(ours, 'c.json'), 'nonsense')
  writeFileSync(join(ours, 'd.json'), note('/ours'))
  writeFileSync(join(theirs, 'e.json'), note('/theirs'))
  expect(takeUncheckedEdits(hooks, '/ours', 2_000)).toMatchObject([{ proof, files: ['x.txt'] }])
  expect(readdirSync(ours)).toEqual([])
  expect(readdirSync(theirs)).toEqual(['e.json'])
  expect(existsSync(elsewhere)).toBe(true)
  expect(takeUncheckedEdits(hooks, '/ours', 2_000)).toEqual([])
})

test('a thousand notes for a workspace that is closed hide none of the others', () => {
  for (let n = 0; n < 1_000; n++) writeFileSync(join(theirs, `${n}.json`), note('/theirs'))
  writeFileSync(join(ours, '9.json'), note('/ours'))
  expect(takeUncheckedEdits(hooks, '/ours', 2_000)).toHaveLength(1)
})

test('what a killed hook left unfinished goes after a while, and so do the notes for a workspace that is gone', () => {
  for (const name of ['old.tmp', 'new.tmp']) writeFileSync(join(ours, name), '{')
  age(join(ours, 'old.tmp'), 120_000)
  expect(takeUncheckedEdits(hooks, '/ours', 2_000)).toEqual([])
  expect(readdirSync(ours)).toEqual(['new.tmp'])
  writeFileSync(join(theirs, '1.json'), note('/theirs'))
  age(theirs, limits.claimMs + 60_000)
  removeOldEditNotes(hooks)
  expect(readdirSync(join(hooks, 'spool'))).toEqual([spoolName('/ours')])
})

test('a name without a proof is not who edited', () => {
  const { proof: _, ...rest } = JSON.parse(note('/ours'))
  writeFileSync(join(ours, '1.json'), JSON.stringify({ ...rest, name: 'Ann' }))
  writeFileSync(join(ours, '2.json'), JSON.stringify({ ...rest, proof: 'at_a-token-itself' }))
  const [late, ...more] = takeUncheckedEdits(hooks, '/ours', 2_000)
  expect(late).not.toHaveProperty('name')
  expect(more).toEqual([])
})
