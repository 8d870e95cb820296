#!/usr/bin/env node
// A stand-in for an agent CLI: it leaves a note of its command line, and stays until it is ended.
const { mkdirSync, readFileSync, writeFileSync } = require('node:fs')
const { basename, join } = require('node:path')

const args = process.argv.slice(2)
const file = args[args.indexOf('--mcp-config') + 1]
let config
try {
  config = JSON.parse(readFileSync(file, 'utf8'))
} catch {
  // It was given none.
}
const { OPENCODE_CONFIG_CONTENT: opencode, RELAY_AGENT_NAME: agent, RELAY_STRICT_AGENT_NAME: strict } = process.env
const { RELAY_AGENT_TYPE: type, RELAY_API_KEY: key, RELAY_BASE_URL: url, RELAY_AGENT_TOKEN: token } = process.env
const variables = { agent, strict, type, key, url, hasToken: token !== undefined }
const notes = join(process.env.HOME, 'started')
mkdirSync(notes, { recursive: true })
const cli = basename(process.argv[1])
const text = JSON.stringify({ cli, args, config, opencode: opencode && JSON.parse(opencode), variables })
writeFileSync(join(notes, `${agent ?? ''}-${cli}-${Date.now()}-${process.pid}.json`), text)
if (args[0] !== 'mcp' && args[0] !== '--version') {
  process.stdin.resume()
  process.stdin.on('data', (typed) => writeFileSync(join(notes, `${agent}.typed`), typed, { flag: 'a' }))
  if (process.stdin.isTTY) process.stdin.setRawMode(true)
  process.stdout.write(`${cli} stands in\r\n> `)
}
