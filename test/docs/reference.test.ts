// docs/reference matches the tables. After a change of these: npm run reference

import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { withAccessTable } from '../../scripts/access.ts'
import { reference } from '../../scripts/reference.ts'

const folder = fileURLToPath(new URL('../../docs/reference/', import.meta.url))
const pages = await reference()

test.each(Object.keys(pages))('%s is not stale', async (name) => {
  await expect(pages[name]).toMatchFileSnapshot(`${folder}${name}`)
})

test('nothing else is in there but the index', () => {
  expect(readdirSync(folder).sort()).toEqual(Object.keys(pages).sort())
})

test('docs/SECURITY.md says who may ask what', async () => {
  const path = fileURLToPath(new URL('../../docs/SECURITY.md', import.meta.url))
  await expect(withAccessTable(readFileSync(path, 'utf8'))).toMatchFileSnapshot(path)
})
