// Document 002: a workspace by its key, its tools, and the actions that programs offer.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { until, World, write } from './world.mjs'

let [world, beginning] = []

/** The relay runs; the key is in the variable that the document's lines name. */
async function begin({ place }) {
  world = new World(place, 'keyed')
  const { code, all } = await world.sh('agent-relay daemon start --quiet')
  assert.equal(code, 0, all)
}
const ready = (run) => {
  beginning ??= begin(run)
  return beginning
}

async function keyOf(name) {
  const { out, all } = await world.sh(`agent-relay workspace key --project ${name}`)
  assert.match(out, /^rk_\S+\s*$/, all)
  return out.trim()
}

async function create(run) {
  await ready(run)
  const line = run.documents['002'].find(/agent-relay workspace create [\w-]+/)
  const { code, all } = await world.sh(line)
  assert.equal(code, 0, all)
  world.env.RELAY_WORKSPACE_KEY = await keyOf(line.split(' ').at(-1))
}

/** By the key alone, from another directory. */
async function host(run, name = 'host') {
  await ready(run)
  if (world.env.RELAY_WORKSPACE_KEY === undefined) await create(run)
  const line = run.documents['002'].find(/agent-relay mcp start --workspace "\$RELAY_WORKSPACE_KEY"/)
  return world.host({ command: 'sh', args: ['-c', line] }, name, { cwd: world.home })
}

async function start(run) {
  const names = (await (await host(run)).tools()).map(({ name }) => name)
  const asked = run.documents['002'].all(/^([a-z]+_?[a-z]+) \| /gm).map(([, name]) => name)
  assert.ok(asked.length >= 11, `${asked}`)
  for (const name of asked) assert.ok(names.includes(name), `no ${name} among ${names}`)
}

async function install(run) {
  await host(run)
  const line = run.documents['002'].find(/agent-relay mcp install --workspace "\$RELAY_WORKSPACE_KEY"/)
  const { code, all } = await world.sh(`mkdir -p ~/.cursor && ${line}`)
  assert.equal(code, 0, all)
  const text = readFileSync(join(world.home, '.cursor/mcp.json'), 'utf8')
  assert.ok(!text.includes(world.env.RELAY_WORKSPACE_KEY), 'the key is in the file')
  const editor = await world.host(JSON.parse(text).mcpServers['agent-relay'], 'cursor', { cwd: world.home })
  const names = (await editor.tools()).map(({ name }) => name)
  assert.ok(names.includes('register_agent') && names.includes('relay_send'))
}

const envelope = async (client, tool, input) => JSON.parse((await client.call(tool, input)).text)

async function flow(run) {
  const [ann, ben] = [await host(run, 'ann'), await host(run, 'ben')]
  const channel = run.documents['002'].find(/join_channelfor(#\w+)/)
  const good = async (client, tool, input) => {
    const answer = await envelope(client, tool, input)
    assert.equal(answer.ok, true, JSON.stringify(answer))
    return answer
  }
  for (const [client, name] of [
    [ann, 'Ann'],
    [ben, 'Ben'],
  ]) {
    await good(client, 'register_agent', { name, handle: `@${name.toLowerCase()}` })
    await good(client, 'join_channel', { channel })
  }
  await good(ann, 'send_message', { channel, text: 'ready' })
  const { messages } = await good(ben, 'list_inbox', {})
  assert.equal(messages.at(-1).from, 'Ann')
  const message = messages.at(-1).id
  await good(ben, 'reply', { message, text: 'take the parser' })
  await good(ben, 'react', { message, emoji: '👍' })
  await good(ben, 'mark_read', { message })
  for (const tool of [
    'subscribe_events',
    'list_events',
    'flush_deliveries',
    'list_channels',
    'list_agents',
    'leave_channel',
  ])
    await good(ben, tool, tool === 'leave_channel' ? { channel } : {})
}

let offering
/** The snippet as a program: what it leaves out is put around it. */
function offer(run) {
  offering ??= (async () => {
    const asked = await host(run, 'voter')
    await envelope(asked, 'register_agent', { name: 'Voter' })
    const snippet = run.documents['002'].find(/^relay\.actions\.register\(\{[\s\S]*?^\}\);/m)
    const program = `import { ActionError, connectRelay } from '@agent-relay/sdk'
import { z } from 'zod'
const relay = await connectRelay({ name: 'reviews', project: ${JSON.stringify(run.documents['002'].find(/workspace create ([\w-]+)/))} })
const reviewStore = {
  async recordVote(caller, input) {
    if (input.proposalId === 'closed') throw new ActionError('permission_denied', 'no')
    console.log(JSON.stringify({ caller, input }))
  },
}
await ${snippet}
console.log('offered')
setInterval(() => {}, 1_000)
`
    write(join(world.project, 'reviews.mjs'), program)
    const running = await world.stays(`exec '${process.execPath}' reviews.mjs`, /offered/)
    const action = run.documents['002'].find(/name: '(\w+\.\w+)'/)
    const tool = await until('the tool', async () =>
      (await asked.tools()).find(({ name }) => name === action || name === action.replace('.', '_')),
    )
    return { asked, running, action, tool }
  })()
  return offering
}

async function register(run) {
  const { asked, action, tool } = await offer(run)
  assert.deepEqual(Object.keys(tool.inputSchema.properties), ['proposalId', 'vote', 'reason'])
  assert.equal((await asked.call(tool.name, { proposalId: '7', vote: 'maybe' })).isError, true)
  if (tool.name !== action) return `the tool is ${tool.name}: several hosts refuse a dot`
}

/** Has the fields that the document shows, with the same values but for the id and the words. */
const isLike = (shown, answer) => {
  assert.deepEqual(Object.keys(answer).sort(), Object.keys(shown).sort())
  assert.deepEqual([answer.ok, answer.action], [shown.ok, shown.action])
  assert.match(answer.invocationId, /^act_\w+$/)
}

const shown = (run, isGood) =>
  JSON.parse(run.documents['002'].find(new RegExp(`^\\{\\n"ok": ${isGood},[\\s\\S]*?^\\}(?=[A-Z])`, 'm')))

async function success(run) {
  const { asked, tool } = await offer(run)
  const answer = await envelope(asked, tool.name, { proposalId: '7', vote: 'approve' })
  isLike(shown(run, true), answer)
  assert.deepEqual(answer.output, shown(run, true).output)
}

async function failure(run) {
  const { asked, tool } = await offer(run)
  const answer = await envelope(asked, tool.name, { proposalId: 'closed', vote: 'approve' })
  isLike(shown(run, false), answer)
  assert.equal(answer.error.code, shown(run, false).error.code)
}

async function caller(run) {
  const { asked, running, tool } = await offer(run)
  await envelope(asked, tool.name, { proposalId: '8', vote: 'abstain' })
  const line = await until('the call', () => running.text.split('\n').find((each) => each.includes('"8"')))
  const known = JSON.parse(line).caller
  const type = run.documents['002'].find(/type McpCaller = \{([\s\S]*?)\};/)
  for (const [, name, mark] of type.matchAll(/^(\w+)(\?)?:/gm))
    assert.ok(name in known || mark === '?', `no ${name} in ${JSON.stringify(known)}`)
  assert.deepEqual([known.type, known.name], ['agent', 'Voter'])
}

async function generic(run) {
  const { asked, action } = await offer(run)
  const names = (await asked.tools()).map(({ name }) => name)
  assert.ok(names.includes('actions_list') && names.includes('actions_invoke'), `${names}`)
  const input = { name: action, input: { proposalId: '9', vote: 'approve' } }
  assert.equal((await envelope(asked, 'actions_invoke', input)).ok, true)
  return 'actions_list and actions_invoke: several hosts refuse a dot'
}

export const examples = [
  { example: 'agent-relay workspace create', run: create },
  { example: 'agent-relay mcp start --workspace, with its eleven tools', run: start },
  { example: 'agent-relay mcp install --workspace', run: install },
  { example: 'the flow of an agent', run: flow },
  { example: 'relay.actions.register', expected: 'with a change', run: register },
  { example: 'actions.list and actions.invoke', expected: 'with a change', run: generic },
  { example: 'the envelope of a result', run: success },
  { example: 'the envelope of an error', run: failure },
  { example: 'the identity of a caller', run: caller },
].map((example) => ({ document: '002', ...example }))

export const close = () => world?.close()
