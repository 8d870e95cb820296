#!/usr/bin/env node
// The launcher of `agent-relay`. It is checked in, so that npm links it before the first build; everything else lives in src/cli.
import { existsSync } from 'node:fs'

const [, , group, command] = process.argv
const entry = new URL('../dist/cli/main.js', import.meta.url)

if (group === 'mcp' && command === 'serve') {
  // The pipe must start in the time of a bare Node: nothing of the command line is loaded for it.
  process.argv.splice(2, 1)
  await import(new URL('../bin/agent-relay-mcp.cjs', import.meta.resolve('@agent-relay/mcp/serve')).href)
} else if (existsSync(entry)) {
  const { main } = await import(entry.href)
  await main(process.argv)
} else {
  process.stderr.write('Not built yet: run npm install && npm run setup in the checkout\n')
  process.exitCode = 78
}
