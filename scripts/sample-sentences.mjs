// `node scripts/sample-sentences.mjs [SEED]`: prints forty comments, ten refusals and ten exported names, drawn at random; the seed is the commit. A reader who
// has not seen the code should understand each of them alone: see docs/contributing/style.md.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

const root = new URL('..', import.meta.url)
const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
const seed = process.argv[2] ?? git('rev-parse', '--short', 'HEAD')
const files = git('ls-files', 'packages')
  .split('\n')
  .filter((path) => /^packages\/[^/]+\/src\/.*\.[cm]?tsx?$/.test(path))
const texts = files.map((path) => [path, readFileSync(new URL(path, root), 'utf8')])

/** Each block of comment lines as one text. */
function commentsIn(text) {
  const blocks = text.match(/\/\*\*[\s\S]*?\*\/|(?:^[ \t]*\/\/(?! biome-ignore).*\n)+/gm) ?? []
  return blocks.map((block) =>
    block
      .replace(/^[ \t]*(?:\/\*\*|\*\/|\*|\/\/)[ \t]?|\*\/$/gm, '')
      .replace(/\s+/g, ' ')
      .trim(),
  )
}

const comments = texts.flatMap(([path, text]) => commentsIn(text).map((comment) => `${path}: ${comment}`))
const names = texts.flatMap(([path, text]) =>
  [...text.matchAll(/^export (?:abstract |async )?(?:function|class|interface|type|const) (\w+)/gm)].map(
    ([, name]) => `${path}: ${name}`,
  ),
)
const { refusals } = await import(new URL('packages/sdk/dist/protocol/index.js', root))
const details = new Proxy({}, { get: (_, name) => `‹${String(name)}›` })
const refused = Object.entries(refusals).map(([code, { text }]) => `${code}: ${text(details)}`)

/** The first of all in the order of their hashes: another seed is another draw. */
function drawn(all, count) {
  const order = new Map(all.map((each) => [each, createHash('sha256').update(`${seed} ${each}`).digest('hex')]))
  return [...order]
    .sort(([, a], [, b]) => (a < b ? -1 : 1))
    .slice(0, count)
    .map(([each]) => each)
}

for (const [title, all, count] of [
  ['comments', comments, 40],
  ['refusals', refused, 10],
  ['names', names, 10],
])
  process.stdout.write(
    `\n${count} of ${all.length} ${title}, seed ${seed}\n${drawn(all, count)
      .map((each) => `  ${each}\n`)
      .join('')}`,
  )
