// How the command line calls itself before a person: by its name where their PATH has it, else through npx.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { ownName, pathOfOwn } from '../src/cli/own-name.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'own-'))
})
afterEach(() => rmSync(root, { recursive: true }))

function folder(name: string, hasIt: boolean): string {
  const path = join(root, name)
  mkdirSync(path, { recursive: true })
  if (hasIt) writeFileSync(join(path, 'agent-relay'), '')
  return path
}

it('is the name where it is installed', () => {
  const PATH = [folder('a', false), folder('b', true)].join(':')
  expect(ownName({ PATH })).toBe('agent-relay')
})

it('is npx where only what npm put before the PATH has it', () => {
  const own = folder('a', false)
  const PATH = [folder('app/node_modules/.bin', true), own, ''].join(':')
  expect([ownName({ PATH }), pathOfOwn({ PATH }), ownName({})]).toEqual(['npx agent-relay', own, 'npx agent-relay'])
})
