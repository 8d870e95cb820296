// A new file, and the places where none can be made: each is refused before anything is written, and nothing is left there.

import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeNewFile } from '../../src/machine/new-file.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'new-file-'))
})
afterEach(() => {
  rmSync(root, { recursive: true, force: true })
})
const make = (path: string, text = 'x') => writeNewFile(path, async (draft) => writeFileSync(draft, text))
const refused = (path: string) =>
  writeNewFile(path, async () => expect.unreachable('nothing may be written')).then(
    () => 'made',
    (error) => error.refusal.code,
  )

test('it is there once it is whole, under any name that the disk takes', async () => {
  const path = join(root, 'n'.repeat(255))
  await make(path, 'whole')
  expect(readFileSync(path, 'utf8')).toBe('whole')
  expect(readdirSync(root)).toHaveLength(1)
})

test('what cannot be its place is refused first', async () => {
  await make(join(root, 'file'))
  symlinkSync(join(root, 'nowhere'), join(root, 'link'))
  mkdirSync(join(root, 'folder'))
  const places = ['file', 'link', 'folder', 'none/x', 'file/x', 'n'.repeat(256)]
  const codes = await Promise.all(places.map((place) => refused(join(root, place))))
  expect(codes).toEqual([...Array(3).fill('file.exists'), ...Array(3).fill('file.misplaced')])
  expect(readdirSync(root).sort()).toEqual(['file', 'folder', 'link'])
})

test('a disk that is full is said so, and the draft goes', async () => {
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  const failing = writeNewFile(join(root, 'x'), () => Promise.reject(full))
  await expect(failing).rejects.toMatchObject({ refusal: { code: 'store.full' } })
  expect(readdirSync(root)).toEqual([])
})

// Root may write everywhere: there the process becomes somebody else first.
test('a folder that only others may write to is named', () => {
  chmodSync(root, 0o555)
  const module = new URL('../../dist/machine/new-file.js', import.meta.url).href
  const program = `import { writeNewFile } from '${module}'
    if (process.getuid() === 0) process.setuid(65534)
    await writeNewFile('${root}/x', async () => {}).catch((error) => console.log(error.message))`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  expect(stdout).toBe(`Nothing can be made in ${root}: you may not write there. Name another place.\n`)
})
