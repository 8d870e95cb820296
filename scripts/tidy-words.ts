// The rules about words: plain English in comments, texts and documents, and a glossary whose files exist. The rules about code are in tidy.ts.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Words that a reader who has never met us stumbles over, and what to write instead. */
const plainer: [found: RegExp, instead: string][] = [
  [/\baffairs?\b/i, 'name the file: "see X.ts"'],
  [/\banew\b/i, 'again'],
  [/\bmend(?:s|ed|ing)?\b/i, 'fix'],
  [/\bhow (?:it|they|he|she|its? \w+) fares?\b|\bfares\b/i, 'status'],
  // "There is none" says what it means; "a file that is none" does not.
  [/(?<!\bthere )\b(?:is|are) none\b/i, 'not a ...'],
  [/\bshall\b/i, 'should, or will'],
  [/\b(?:he|she|him|his|hers?|himself|herself)\b/i, 'they, their, or the name'],
  // Git's marks of a conflict that nobody has resolved.
  [/^(?:<{7}|>{7}) /, 'what both sides meant'],
]

/** Paths that are not checked: the licences, generated files, and the history of releases. */
const isSpared = (path: string) => /^CHANGELOG\.md$|(?:^|\/)(?:node_modules|dist|cjs|out|pictures)(?:\/|$)/.test(path)

function textFiles(root: string, folder = ''): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    if (isSpared(path) || entry.name.startsWith('.')) return []
    if (entry.isDirectory()) return textFiles(root, path)
    return /\.(?:[cm]?[jt]sx?|md)$/.test(entry.name) ? [path] : []
  })
}

/** Finds each line with a word that has a plainer one. */
export function oddWords(root: string): string[] {
  const itself = /(?:^|\/)tidy(?:-words|\.test)\.ts$/
  const files = textFiles(root).filter((path) => !itself.test(path))
  return files.flatMap((path) =>
    readFileSync(join(root, path), 'utf8')
      .split('\n')
      .flatMap((line, at) => {
        const rule = plainer.find(([found]) => found.test(line))
        return rule ? [`${path}:${at + 1}: "${rule[0].exec(line)?.[0]}": write ${rule[1]}`] : []
      }),
  )
}

const glossary = 'docs/contributing/words.md'
/** The folders where the short paths of the glossary begin; all others are below packages/relay/src. */
const folders: Record<string, string> = {
  sdk: 'packages/sdk/src',
  protocol: 'packages/sdk/src/protocol',
  mcp: 'packages/mcp/src',
  test: 'test',
  docs: 'docs',
}

interface Word {
  word: string
  /** `path` is as the glossary writes it, `file` from the root of the repository. */
  path?: string
  file?: string
}

function wordsIn(root: string): Word[] {
  if (!existsSync(join(root, glossary))) return []
  const rows = readFileSync(join(root, glossary), 'utf8')
    .split('\n')
    .filter((line) => /^\| [A-Z]/.test(line))
  return rows.map((row) => {
    const word = row.split('|')[1]?.trim() ?? ''
    const path = /\| `([^`|]+)` \|$/.exec(row)?.[1]
    if (path === undefined) return { word }
    const [first = '', ...rest] = path.split('/')
    return { word, path, file: first in folders ? [folders[first], ...rest].join('/') : `packages/relay/src/${path}` }
  })
}

/** Finds words of the glossary that name no file, or a file that does not exist. A glossary without words would hide all others. */
export function wordsWithoutFile(root: string): string[] {
  const words = wordsIn(root)
  if (words.length === 0) return [`${glossary}: missing, or without words`]
  return words.flatMap(({ word, path, file }) => {
    if (file === undefined) return [`${glossary}: "${word}" names no file`]
    return existsSync(join(root, file)) ? [] : [`${glossary}: "${word}" names ${path}, which does not exist`]
  })
}

const declared = /^(?:export )?(?:abstract )?(?:interface|class|type) (\w+)\b/gm

/**
 * Finds types that have the name of a word of the glossary and stand outside its file. A word has one meaning; types of the protocol may have its
 * name, because they are what programs see of it.
 */
export function wordsTwice(root: string, all: readonly { path: string; code: string }[]): string[] {
  const homes = new Map(wordsIn(root).map(({ word, file }) => [word, file]))
  return all
    .filter(({ path }) => !path.startsWith('packages/sdk/src/protocol/'))
    .flatMap(({ path, code }) =>
      [...code.matchAll(declared)].flatMap(([, name = '']) => {
        const home = homes.get(name)
        return home === undefined || home === path
          ? []
          : [`${path}: "${name}" is a word of the glossary, and stands in ${home}: give this type another name`]
      }),
    )
}
