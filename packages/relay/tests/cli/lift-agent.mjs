#!/usr/bin/env node
// A scripted agent for the panes of a lift: it has the relay's tools as a host has them, waits for its kickoff like a prompt in raw mode does,
// then posts and reads. It stands in for a model, so that the panes can be driven without one.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const role = process.env.RELAY_AGENT_NAME
const say = (text) => process.stdout.write(`${text}\r\n`)

// As a server that an agent leaves in the background: in a session of its own, deaf to what its parent hears.
spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' }).unref()

const bin = createRequire(import.meta.url)
  .resolve('@agent-relay/mcp/serve')
  .replace(/dist.serve\.cjs$/, 'bin/agent-relay-mcp.cjs')
const client = new Client({ name: 'scripted', version: '1' })
await client.connect(new StdioClientTransport({ command: process.execPath, args: [bin, 'serve'], env: process.env }))
const { tools } = await client.listTools()

async function call(name, input) {
  const { content, isError } = await client.callTool({ name, arguments: input })
  if (isError) throw new Error(content[0].text)
  return JSON.parse(content[0].text)
}

async function readUntil(count) {
  const got = []
  while (got.length < count) {
    got.push(...(await call('read_messages', { for: role })))
    await sleep(50)
  }
  for (const { from, kind, body } of got) say(`${role} got from ${from} [${kind}]: ${body}`)
  return got
}

/** A paste in brackets, and after it an Enter of its own. */
function kickoff() {
  process.stdin.setRawMode?.(true)
  process.stdout.write('\u001b[?2004h')
  return new Promise((resolve) => {
    let typed = ''
    process.stdin.setEncoding('utf8').on('data', (text) => {
      typed += text
      if (text.includes('\u0003')) process.exit(0)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the brackets of a paste.
      const paste = /\u001b\[200~([\s\S]*)\u001b\[201~\r$/.exec(typed)
      if (paste) resolve(paste[1])
    })
  })
}

say(`${role} is in pane ${process.env.TMUX_PANE}`)
say(`${role} has ${tools.map(({ name }) => name).join(', ')}`)
const text = await kickoff()
say(`${role} was told: ${text.split(/[\r\n]/)[0]}`)
if (role === 'pm') {
  for (const to of ['dev-a', 'dev-b'])
    await call('post_message', { from: role, to, kind: 'directive', body: `build ${to}` })
  await readUntil(2)
  say('pm is done')
} else {
  const [{ body }] = await readUntil(1)
  await call('post_message', { from: role, to: 'pm', kind: 'status', body: `${body}: done` })
  say(`${role} is done`)
}
setInterval(() => {}, 60_000)
