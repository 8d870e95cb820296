// Damages a database file as a failing disk would: overwrites one page in its middle. No tests.

import { readFileSync, writeFileSync } from 'node:fs'

const pageBytes = 4096

/** The page that holds this text, which must stand nowhere else. */
export function plantDamage(path: string, text: string): void {
  const content = readFileSync(path)
  const at = content.indexOf(text)
  if (at < pageBytes || at > content.length - pageBytes)
    throw new Error(`"${text}" is not in the middle of ${path}, but at ${at} of ${content.length}`)
  const from = at - (at % pageBytes)
  content.fill(0xa5, from, from + pageBytes)
  writeFileSync(path, content)
}
