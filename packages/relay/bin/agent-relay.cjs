#!/usr/bin/env node
// The launcher of `agent-relay`, checked in so that npm links it before the first build; everything else lives in src/cli.
// It is CommonJS, and answers by itself whatever must take no longer than a bare Node does: the version, the MCP pipe, the hooks, and shell completion.
const { existsSync, readFileSync, statSync } = require('node:fs')

const [, , first, second] = process.argv
const dist = `${__dirname}/../dist`
const single = `${dist}/cli/main.js`

if (process.argv.length === 3 && (first === '--version' || first === '-V')) {
  process.stdout.write(`${JSON.parse(readFileSync(`${__dirname}/../package.json`, 'utf8')).version}\n`)
} else if (first === 'hook' || (first === 'mcp' && second === 'serve')) {
  if (first === 'mcp') process.argv.splice(2, 1)
  require(pipe())
} else if ((first === 'complete' || first === 'agent-names') && existsSync(`${dist}/cli/complete.js`)) {
  const [what, ...line] = first === 'complete' ? process.argv.slice(3) : ['agents']
  import('../dist/cli/complete.js').then(({ complete }) => complete(what, line))
} else if (first === 'completion' && process.argv.length === 4 && existsSync(script(second))) {
  process.stdout.write(readFileSync(script(second)))
} else if (isJoined()) {
  // Options may come before each of these words, and have values.
  const words = process.argv.slice(2).filter((word) => !word.startsWith('-'))
  const isDaemon = ['up', 'lift', 'demo'].includes(words[0]) || (words[0] === 'daemon' && words.includes('run'))
  if (isDaemon) whole('daemon').main(process.argv)
  else if (['who', 'send', 'inbox'].includes(first)) whole('light').main(process.argv)
  else import('../dist/joined/main.js').then(({ main }) => main(process.argv))
} else if (existsSync(single)) {
  import(single).then(({ main }) => main(process.argv))
} else {
  process.stderr.write('Not built yet: run npm run setup in the checkout\n')
  process.exitCode = 78
}

/** The completion script of a shell, written by the build. */
function script(shell) {
  return `${__dirname}/../dist/completion/${/^[a-z]+$/.test(shell) ? shell : ''}.sh`
}

/**
 * Whether to load the files that scripts/join-cli.mjs has joined, because loading single files took half of a command's time, and most of a daemon's start. In a
 * checkout, a build that is newer than the joined files wins. An archive has no other files.
 */
function isJoined() {
  if (!existsSync(single)) return existsSync(`${dist}/joined/main.js`)
  const timeOf = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
  const built = ['relay', 'sdk', 'mcp'].map((name) => timeOf(`${__dirname}/../../${name}/dist/.tsbuildinfo`))
  return timeOf(`${dist}/joined/main.js`) > Math.max(...built)
}

/**
 * The commands that people and agents type most (`light`), and what becomes a daemon (`daemon`): each joined into one file, because finding and compiling many
 * takes longer than Node's own start. A daemon loads nothing else of what is joined, since it may go on for days after a build has replaced it. If the build was
 * made by the same V8, the compiled form lies beside, under the digest with which the text begins: V8 itself would take the compiled form of any text of the
 * same length. V8 compiles the file again if that form is damaged or made under other flags.
 */
function whole(name) {
  const filename = require('node:path').join(__dirname, '../dist/joined', `${name}.cjs`)
  // The file is ASCII. Read as such, its text lies outside of V8's heap.
  const text = readFileSync(filename, 'latin1')
  const [, digest] = /^\/\*(\w+)\*\//.exec(text) ?? []
  const compiled = filename.replace(/cjs$/, `${digest}-${process.versions.v8}-${process.arch}.bin`)
  const cachedData = existsSync(compiled) ? readFileSync(compiled) : undefined
  const script = new (require('node:vm').Script)(text, { filename, cachedData })
  const module = { exports: {} }
  script.runInThisContext()(module.exports, require, module, filename)
  return module.exports
}

/**
 * The launcher of the MCP pipe, tried first where an installed archive and a checkout have it: resolving a package takes a tenth of a bare Node's
 * start. The folder beside the installation is never tried: another project's package of that name may lie there.
 */
function pipe() {
  const near = ['../node_modules/@agent-relay/mcp', '../../mcp'].map(
    (folder) => `${__dirname}/${folder}/bin/agent-relay-mcp.cjs`,
  )
  return (
    near.find((path) => existsSync(path)) ??
    require.resolve('@agent-relay/mcp/serve').replace(/dist.serve\.cjs$/, 'bin/agent-relay-mcp.cjs')
  )
}
