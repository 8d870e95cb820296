// Every TypeScript or JavaScript block of the documentation is a program of its own and compiles under `strict`, against the built package.

import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).map((name) => `docs/${name}`)
const packages = readdirSync(join(root, 'packages')).map((name) => `packages/${name}/README.md`)
const pages = ['README.md', 'CONTRIBUTING.md', ...docs, ...packages].filter((page) => page.endsWith('.md'))

const fence = /^```(?:ts|typescript|js|javascript)\b.*\n([\s\S]*?)^```$/gm
/** What `tsc --init` writes today, so that a new project compiles them. */
const options = {
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  verbatimModuleSyntax: true,
  isolatedModules: true,
  noUncheckedSideEffectImports: true,
  moduleDetection: 'force',
  noEmit: true,
  target: 'es2023',
  module: 'nodenext',
  types: ['node'],
  skipLibCheck: true,
}

/** By file name: `docs-how-to-write-a-program.md-20.ts`. */
const snippets = new Map(pages.flatMap(snippetsOf))
let directory: string
let complaints: string[]

function snippetsOf(page: string): [string, string][] {
  let text: string
  try {
    text = readFileSync(join(root, page), 'utf8')
  } catch {
    return [] // Not every package has a page of its own.
  }
  return [...text.matchAll(fence)].map((block) => {
    const line = text.slice(0, block.index).split('\n').length
    return [`${page.replaceAll('/', '-')}-${line}.ts`, block[1] as string]
  })
}

/** Wrong on purpose, one line each: what the compiler must find. */
const wrong = `import { connectRelay } from '@agent-relay/sdk'
const relay = await connectRelay({ name: 'wrong' })
relay.events.follow({ types: ['mesage.created'] })
for await (const event of relay.events) console.log(event.message.body)
for await (const { fact } of relay.events.follow({ types: ['run.*'] })) console.log(fact.summary)
relay.client.on('renamed', () => {})
await relay.messages.send('Bob', 'hi', { knd: 'question' })
`

beforeAll(async () => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'snippets-')))
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include: ['*.ts'] }))
  // Each a module, also where it imports nothing.
  for (const [name, text] of [...snippets, ['wrong.ts', wrong] as const])
    writeFileSync(join(directory, name), `${text}\nexport {}\n`)
  complaints = await new Promise((resolve) => {
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    execFile(process.execPath, [tsc, '-p', directory, '--pretty', 'false'], { cwd: directory }, (_, out) =>
      resolve(out.split('\n').filter((line) => /^\S/.test(line))),
    )
  })
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

test('there are snippets to compile', () => {
  const names = [...snippets.keys()].join(' ')
  for (const page of ['README.md', 'docs-how-to-write-a-program.md', 'packages-sdk-README.md'])
    expect(names).toContain(page)
})

test('every snippet compiles', () => {
  expect(complaints.filter((line) => !line.startsWith('wrong.ts'))).toEqual([])
})

test('a wrong event name, field or option does not', () => {
  const lines = complaints.map((line) => Number(/^wrong\.ts\((\d+),/.exec(line)?.[1]))
  expect(lines.filter((line) => !Number.isNaN(line))).toEqual([3, 4, 5, 6, 7])
})
