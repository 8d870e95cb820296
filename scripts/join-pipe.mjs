// Joins the files of the stdio pipe, as tsc has written them. Node takes half a millisecond for each file and three to look a package up:
// apart they would cost a third of the start of a bare Node. Two files come of it, because what is required inside a function is loaded later.
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Writes what is missing or stale beside the MCP package's `dist/bin.cjs`, which is run where these are not. Tells whether it wrote. */
export function joinPipe(root) {
  const entry = join(root, 'packages/mcp/dist/bin.cjs')
  return existsSync(entry) && joinOne(entry, dirname(entry))
}

function joinOne(entry, folder) {
  const modules = new Map()
  const later = new Map()
  collect(entry, modules, later)
  const joined = join(folder, joinedName(entry))
  const writtenAt = existsSync(joined) ? statSync(joined).mtimeMs : 0
  const isStale = [...modules.keys(), fileURLToPath(import.meta.url)].some(
    (path) => statSync(path).mtimeMs >= writtenAt,
  )
  if (isStale) writeFileSync(joined, textOf([...modules.values()]))
  return [...later.keys()].reduce((worked, path) => joinOne(path, folder) || worked, isStale)
}

const joinedName = (path) => basename(path).replace(/\.cjs$/, '.joined.cjs')

/** Every module that `path` needs comes before it. */
function collect(path, modules, later) {
  if (modules.has(path)) return
  const { resolve } = createRequire(path)
  const code = readFileSync(path, 'utf8')
    .replace(/^"use strict";\n|^\/\/# sourceMappingURL.*\n?/gm, '')
    .replace(/^((?:const|var) \w+ = )?(.*?)\brequire\(["'](.+?)["']\)/gm, (all, head, before, name) => {
      if (name.startsWith('node:')) return all
      const target = resolve(name)
      if (head === undefined) {
        later.set(target)
        return `${before}require("./${joinedName(target)}")`
      }
      collect(target, modules, later)
      return head + before + modules.get(target).name
    })
  modules.set(path, { name: `module${modules.size}`, code })
}

/** A function in brackets is compiled at once, not looked through first and compiled later. */
function textOf(modules) {
  const parts = modules.map(({ name, code }) => `const ${name} = {};\n(function (exports) {\n${code}})(${name});\n`)
  return `'use strict';\n${parts.join('')}module.exports = ${modules.at(-1).name};\n`
}
