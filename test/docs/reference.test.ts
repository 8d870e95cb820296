// docs/reference matches the tables. After a change of these: npm run reference

import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { reference } from '../../scripts/reference.ts'

const folder = fileURLToPath(new URL('../../docs/reference/', import.meta.url))
const pages = await reference()

test.each(Object.keys(pages))('%s is not stale', async (name) => {
  await expect(pages[name]).toMatchFileSnapshot(`${folder}${name}`)
})

test('nothing else is in there but the index', () => {
  expect(readdirSync(folder).sort()).toEqual(Object.keys(pages).sort())
})
