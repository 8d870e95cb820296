#!/usr/bin/env node
// The launcher of `agent-relay`. It is checked in, so that npm links it before the first build; everything else lives in src/cli.
// CommonJS, and it answers by itself what must take no longer than a bare Node does: the version, the pipe and the hooks.
const { existsSync, readFileSync } = require('node:fs')

const [, , first, second] = process.argv
const entry = `${__dirname}/../dist/cli/main.js`

if (process.argv.length === 3 && (first === '--version' || first === '-V')) {
  process.stdout.write(`${JSON.parse(readFileSync(`${__dirname}/../package.json`, 'utf8')).version}\n`)
} else if (first === 'hook' || (first === 'mcp' && second === 'serve')) {
  if (first === 'mcp') process.argv.splice(2, 1)
  require(pipe())
} else if (existsSync(entry)) {
  import('../dist/cli/main.js').then(({ main }) => main(process.argv))
} else {
  process.stderr.write('Not built yet: run npm install && npm run setup in the checkout\n')
  process.exitCode = 78
}

/** Where npm puts it, and where it is in a checkout: to look a package up takes a tenth of a bare Node's start. */
function pipe() {
  const near = ['@agent-relay/mcp', 'mcp'].map((name) => `${__dirname}/../../${name}/bin/agent-relay-mcp.cjs`)
  return (
    near.find((path) => existsSync(path)) ??
    require.resolve('@agent-relay/mcp/serve').replace(/dist.serve\.cjs$/, 'bin/agent-relay-mcp.cjs')
  )
}
