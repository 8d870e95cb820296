// A project that somebody else made: no link on the way to a file leads the installer outside, and no odd file holds it up.

import { execFileSync } from 'node:child_process'
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { addLiftEntries, installContext, removeLiftEntries } from '../src/install/index.ts'
import { Home } from './install-world.ts'

let home: Home
let outside: string
beforeEach(() => {
  home = new Home()
  outside = join(home.root, 'outside')
  mkdirSync(outside)
  writeFileSync(join(outside, 'mine.json'), '{"mine":true}\n')
})
afterEach(() => home.close())

const files = ['.mcp.json', '.cursor/mcp.json', '.vscode/mcp.json', '.claude/settings.json', '.gemini/settings.json']
const install = ['install', '-e', 'claude,cursor,vscode,gemini', '--project', '--hooks']

function plant(file: string, make: (path: string) => void): void {
  const path = join(home.project, file)
  mkdirSync(dirname(path), { recursive: true })
  make(path)
}

function expectOutsideUntouched(): void {
  expect(readdirSync(outside)).toEqual(['mine.json'])
  expect(readFileSync(join(outside, 'mine.json'), 'utf8')).toBe('{"mine":true}\n')
}

describe('nothing is written through', () => {
  it.each<[name: string, make: (path: string) => void]>([
    ['links to files outside', (path) => symlinkSync(join(outside, 'mine.json'), path)],
    ['links to nothing outside', (path) => symlinkSync(join(outside, 'new.json'), path)],
    ['links over links', (path) => symlinkSync(linked(join(outside, 'mine.json')), path)],
    ['links to /dev/zero', (path) => symlinkSync('/dev/zero', path)],
    ['FIFOs', (path) => execFileSync('mkfifo', [path])],
  ])('%s in the place of the files', async (_, make) => {
    for (const file of files) plant(file, make)
    const { code, stdout } = await home.run(install)
    expect(code).toBe(1)
    expect(stdout.match(/✗/g)?.length).toBeGreaterThanOrEqual(4)
    expectOutsideUntouched()
    for (const file of files) expect(lstatSync(join(home.project, file)).isFile()).toBe(false)
    expect((await home.run(['uninstall', '--project'])).stdout).not.toContain('✓')
    expectOutsideUntouched()
  })

  it('links in the place of the directories', async () => {
    for (const file of files.filter((file) => file.includes('/')))
      symlinkSync(outside, join(home.project, dirname(file)))
    expect((await home.run(install)).code).toBe(1)
    expectOutsideUntouched()
  })

  it('a link in the place of the file that is written beside', async () => {
    writeFileSync(join(home.project, '.mcp.json'), '{}\n')
    execFileSync('touch', ['-h', '-d', '1 hour ago', link(home.project, '..mcp.json.agent-relay.tmp')])
    expect((await home.run(['install', '-e', 'claude', '--project'])).code).toBe(0)
    expectOutsideUntouched()
  })
})

function linked(target: string): string {
  const path = join(home.project, `step-${readdirSync(home.project).length}`)
  symlinkSync(target, path)
  return path
}

function link(directory: string, name: string): string {
  const path = join(directory, name)
  symlinkSync(join(outside, 'mine.json'), path)
  return path
}

it.each(['shared.json', '..shared.json'])(
  'a link to %s inside the project stays, and its target is edited',
  async (name) => {
    writeFileSync(join(home.project, name), '{}\n')
    plant('.cursor/mcp.json', (path) => symlinkSync(`../${name}`, path))
    expect((await home.run(['install', '-e', 'cursor', '--project'])).code).toBe(0)
    expect(readlinkSync(join(home.project, '.cursor/mcp.json'))).toBe(`../${name}`)
    expect(readFileSync(join(home.project, name), 'utf8')).toContain('agent-relay')
  },
)

it('a lift writes and takes out nothing outside either', () => {
  for (const file of files) plant(file, (path) => symlinkSync(join(outside, 'mine.json'), path))
  const around = installContext({ HOME: home.path, RELAY_DATA_DIR: join(home.root, 'data') }, home.project)
  const outcomes = addLiftEntries(7331, around)
  expect(outcomes.length).toBeGreaterThan(3)
  for (const outcome of outcomes)
    expect(outcome).toMatchObject({ status: 'failed', why: expect.stringContaining('a link leads out of the project') })
  removeLiftEntries(around)
  expectOutsideUntouched()
})
