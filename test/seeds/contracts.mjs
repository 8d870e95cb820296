// Document 001: contracts over MCP on an open port, and their payloads. A scripted model stands in for the real one.
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { SSEClientTransport } from '@modelcontextprotocol/client'
import { startFakeModel } from '../real/fake-model.mjs'
import { until, World } from './world.mjs'

let [world, model, starting] = []

function freePort(port) {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(freePort(0)))
    server.listen(port, '127.0.0.1', () => {
      const found = server.address().port
      server.close(() => resolve(found))
    })
  })
}

const completing = (document) => document.find(/`(\[[A-Z ]+\])` as fallback/)

/** The model's part: a contract that asks for it ends with the words of the document; of any other it says one word, and then thinks for long. */
const script = (document) => async (_, body) => {
  const said = JSON.stringify(body)
  if (said.includes('Count and end.')) return { text: `three ${completing(document)}` }
  if (said.includes('word0')) await sleep(20_000, undefined, { ref: false })
  return { text: 'word0' }
}

/** The relay with an open port: the one that the document names, or another where that is taken. */
async function start({ place, documents }) {
  const { url } = Object.values(JSON.parse(documents['001'].block('### Client Configuration')))[0]
  model = await startFakeModel(undefined, script(documents['001']))
  const env = {
    RELAY_LLM_PROVIDER: 'openai-compatible',
    RELAY_LLM_BASE_URL: `${model.url}/v1`,
    RELAY_MODEL: 'scripted',
  }
  world = new World(place, 'open', env)
  const port = await freePort(Number(new URL(url).port))
  const option = port === 8101 ? '' : ` --port ${port}`
  await world.stays(`agent-relay up --open${option}`, /ready/, { env: { RELAY_PORT: undefined } })
  const address = url.replace(':8101', `:${port}`)
  return { address, origin: new URL(address).origin, host: await world.host(address, 'claude-desktop') }
}
const open = (run) => {
  starting ??= start(run)
  return starting
}

const called = async (host, tool, input) => {
  const { text, isError } = await host.call(tool, input)
  assert.ok(!isError, text)
  return JSON.parse(text)
}
const statusOf = async (host, id) => (await called(host, 'agent_status', { agent_ids: [id] }))[0]
/** A contract on which the model works until somebody ends it. */
const begin = (host) => called(host, 'agent_start', { contract: 'Count slowly.' })

/** As a client that adds nothing by itself. */
function get(address, headers) {
  return new Promise((resolve, reject) => {
    const asked = request(address, { headers }, (answer) => {
      const parts = []
      answer.on('data', (part) => parts.push(part))
      answer.on('end', () =>
        resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(parts) }),
      )
    })
    asked.on('error', reject)
    asked.end()
  })
}

/** The names that stand in braces, without those that depend on how the agent ended. */
const fieldsIn = (text) =>
  [...text.matchAll(/(\w+)(?=[,:}])/g)]
    .map(([name]) => name)
    .filter((name) => !/^(running|completed|stopped)$/.test(name))
const answerOf = (document, tool) =>
  fieldsIn(document.find(new RegExp(`### Tool: ${tool}[\\s\\S]*?\\*\\*Response:\\*\\* \`(\\{[^}]*\\})`)))
const has = (value, names) => {
  for (const name of names) assert.ok(name in value, `no ${name} in ${JSON.stringify(value)}`)
}

async function configuration(run) {
  const { host } = await open(run)
  const names = (await host.tools()).map(({ name }) => name)
  for (const [, tool, parameters] of run.documents['001'].all(/### Tool: (\w+)\n\n\*\*Parameters:\*\* (.+)/g)) {
    const found = (await host.tools()).find(({ name }) => name === tool)
    assert.ok(found, `no ${tool} among ${names}`)
    for (const [, name] of parameters.matchAll(/`(\w+)\??:/g)) assert.ok(name in found.inputSchema.properties)
  }
}

async function bySse(run) {
  const { origin } = await open(run)
  const transport = new SSEClientTransport(new URL(`${origin}/sse`))
  const host = await world.host(origin, 'older', { transport })
  assert.ok((await host.tools()).some(({ name }) => name === 'agent_start'))
}

async function startTool(run) {
  const { host } = await open(run)
  const at = Date.now()
  const started = await begin(host)
  assert.ok(Date.now() - at < 1_000)
  has(started, answerOf(run.documents['001'], 'agent_start'))
  assert.equal(started.status, 'running')
  await host.call('agent_stop', { agent_id: started.agent_id })
}

async function statusTool(run) {
  const { host } = await open(run)
  const { agent_id } = await begin(host)
  await until('a preview', async () => JSON.stringify(await statusOf(host, agent_id)).includes('word0'))
  has(await statusOf(host, agent_id), ['agent_id', 'status', 'started_at'])
  await called(host, 'agent_complete', { agent_id, summary: 'three', payload: 'one two three' })
  const completed = await statusOf(host, agent_id)
  const shown = fieldsIn(
    run.documents['001']
      .block('**Response:** List of status objects')
      .replaceAll('?', '')
      .replace(/\/\/.*/g, ''),
  )
  has(
    completed,
    shown.filter((name) => !['stopped_at', 'error', 'string', 'number', 'ready'].includes(name)),
  )
  assert.equal(completed.payload_size, 13)
  assert.match(completed.payload_url, new RegExp(`/api/agents/${agent_id}/payload$`))
  has(await statusOf(host, 'run_of_nobody'), ['error'])
}

async function completeTool(run) {
  const { host } = await open(run)
  const { agent_id } = await begin(host)
  const first = await called(host, 'agent_complete', { agent_id, summary: 'three' })
  has(first, answerOf(run.documents['001'], 'agent_complete'))
  const again = await called(host, 'agent_complete', { agent_id, summary: 'four' })
  assert.deepEqual([again.status, again.completed_at], ['completed', first.completed_at])
}

async function stopTool(run) {
  const { host } = await open(run)
  const { agent_id } = await begin(host)
  const first = await called(host, 'agent_stop', { agent_id })
  has(first, answerOf(run.documents['001'], 'agent_stop'))
  assert.equal((await called(host, 'agent_stop', { agent_id })).stopped_at, first.stopped_at)
}

async function fallback(run) {
  const { host } = await open(run)
  const { agent_id } = await called(host, 'agent_start', { contract: 'Count and end.' })
  await until('the end', async () => (await statusOf(host, agent_id)).status === 'completed')
}

async function payload(run) {
  const { host, origin } = await open(run)
  const path = run.documents['001'].find(/`GET (\/api\/\S+)`/)
  const { agent_id } = await begin(host)
  const [address, nobody] = [agent_id, 'run_of_nobody'].map((id) => origin + path.replace('{agent_id}', id))
  const gzip = { 'accept-encoding': 'gzip' }
  assert.equal((await get(address, gzip)).status, 404)
  assert.equal((await get(nobody, gzip)).status, 404)
  await called(host, 'agent_complete', { agent_id, summary: 'three', payload: 'one two three' })
  const whole = await get(address, gzip)
  assert.deepEqual([whole.status, whole.headers['content-encoding']], [200, 'gzip'])
  assert.equal(String(gunzipSync(whole.body)), 'one two three')
  assert.equal((await get(address, {})).status, 406)
}

export const examples = [
  { example: 'the client configuration, with up --open', run: configuration },
  {
    example: 'a client by SSE',
    expected: 'with a change',
    run: async (run) => {
      await bySse(run)
      return 'SSE at /sse; /mcp is Streamable HTTP'
    },
  },
  { example: 'agent_start', run: startTool },
  { example: 'agent_status', run: statusTool },
  { example: 'agent_complete', run: completeTool },
  { example: 'agent_stop', run: stopTool },
  { example: 'the words that complete a contract', run: fallback },
  { example: 'the payload: 200, 404, 406', run: payload },
].map((example) => ({ document: '001', ...example }))

export async function close() {
  await world?.close()
  model?.close()
}
