#!/usr/bin/env node
// The launcher of `agent-relay-mcp`. It is checked in, so that npm links it before the first build; everything else lives in src.
const { existsSync } = require('node:fs')

const entry = `${__dirname}/../dist/bin.cjs`
if (existsSync(entry)) {
  require(entry)
} else {
  process.stderr.write('Not built yet: run npm run setup in the checkout\n')
  process.exitCode = 78
}
