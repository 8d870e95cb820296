#!/usr/bin/env node
// The launcher of `agent-relay-mcp`. It is checked in, so that npm links it before the first build; everything else lives in src.
const { existsSync } = require('node:fs')

// The joined file starts faster; a plain `tsc -b` makes the other one alone.
const entry = ['bin.joined.cjs', 'bin.cjs']
  .map((name) => `${__dirname}/../dist/${name}`)
  .find((path) => existsSync(path))

if (entry) {
  require(entry)
} else {
  process.stderr.write('Not built yet: run npm install && npm run setup in the checkout\n')
  process.exitCode = 78
}
