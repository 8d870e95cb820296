// Questions of opencode to its person, reported by the plugin as opencode runs it: this process plays opencode with its interface. The daemon is
// a real one in the same process, so that a person can answer.

import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { socketPathOf } from '@agent-relay/sdk/internal/discover'
import { makeIds } from '@agent-relay/sdk/wire'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { joinPipe } from '../../../scripts/join-pipe.mjs'
import { until } from '../../../test/until.ts'
import type { Workspace } from '../../relay/src/broker/workspace.ts'
import { HttpWorld } from '../../relay/tests/wires/http-world.ts'
import { pluginPath, refreshPlugin } from '../src/hooks/opencode-plugin.ts'
import { refreshLauncher } from '../src/launcher/index.ts'

const id = makeIds()
const work = realpathSync(mkdtempSync(join(tmpdir(), 'opencode-asks-')))
joinPipe(process.cwd())
let world: HttpWorld
let workspace: Workspace
const posted: object[] = []
let tell: (type: string, properties: object) => void

beforeAll(async () => {
  world = await HttpWorld.start()
  const opened = await world.daemon.open('home')
  workspace = opened.workspace
  const env = { RELAY_DATA_DIR: world.dir, RELAY_SOCKET: socketPathOf(world.dir, 'home') }
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  refreshLauncher(env)
  refreshPlugin(env)
  await opened.dispatch.openSession(
    { door: 'owner', kind: 'model' },
    { name: 'opencode', cli: 'opencode', host: process.pid },
  )
  const { AgentRelay } = await import(pathToFileURL(pluginPath(env)).href)
  const part = { callID: 'c1', state: { input: { command: 'touch a', workdir: '/etc', description: 'work' } } }
  const session = {
    get: async ({ path }: { path: { id: string } }) => ({ data: path.id === 's1' ? { parentID: 's0' } : {} }),
    message: async () => ({ data: { parts: [{}, part] } }),
  }
  const post = async (request: object) => void posted.push(request)
  const { event } = await AgentRelay({ client: { session, _client: { post } }, directory: work })
  tell = (type, properties) => event({ event: { type, properties } })
})
afterEach(() => void posted.splice(0))
afterAll(async () => {
  vi.unstubAllEnvs()
  await world?.stop()
  rmSync(work, { recursive: true, force: true })
})

const bash = {
  ...{ sessionID: 's1', permission: 'bash', patterns: ['touch a'], metadata: { command: 'touch a' } },
  ...{ always: ['touch *'], tool: { messageID: 'm1', callID: 'c1' } },
}
const shown = () => workspace.approvals.list({ standing: { rank: 'holder' } }).approvals
const opened = async () => {
  await until(() => shown().length === 1)
  return shown()[0] as ReturnType<typeof shown>[number]
}
/** As a person on the page. */
async function answer(choice: string, more: object = {}) {
  const { id: own, digest } = await opened()
  const input = { id: own, digest, choice, ...more, surface: 'page' as const, standing: { rank: 'holder' as const } }
  await workspace.engine.submit({ rule: 'approval.answer', input, by: 'agent-relay', cause: id('c') })
}
const headers = { 'content-type': 'application/json' }
const end = (own: string) => workspace.store.view.approvals.byId(own)?.closed

test('a permission is a row with all that is asked, and the answer goes to it, with words', async () => {
  tell('permission.asked', { id: 'per_1', ...bash })
  expect(await opened()).toMatchObject({
    ...{ agent: 'opencode', vendor: 'opencode', tool: 'bash' },
    input: 'touch a\n{"workdir":"/etc"}',
  })
  await answer('reject', { words: 'Use a branch.' })
  await until(() => posted.length === 1)
  const body = { reply: 'reject', message: 'Use a branch.' }
  expect(posted).toEqual([{ url: '/permission/per_1/reply', body, headers }])
})

test('an answer at the terminal closes the row, and nothing is posted', async () => {
  tell('permission.asked', { id: 'per_2', ...bash, tool: undefined })
  const { id: own } = await opened()
  tell('permission.replied', { sessionID: 's1', requestID: 'per_2', reply: 'once' })
  await until(() => shown().length === 0)
  expect(end(own)).toMatchObject({ how: 'terminal', kind: 'allow' })
  // A turn that is broken off takes back what it had asked.
  tell('permission.asked', { id: 'per_3', ...bash })
  const { id: other } = await opened()
  tell('session.idle', { sessionID: 's1' })
  await until(() => shown().length === 0)
  expect(end(other)).toMatchObject({ how: 'cancelled' })
  expect(posted).toEqual([])
})

test('questions of its model are a choice', async () => {
  const options = [{ label: 'Postgres', description: 'large' }, { label: 'SQLite' }]
  tell('question.asked', { id: 'que_1', sessionID: 's1', questions: [{ question: 'Which store?', options }] })
  expect(await opened()).toMatchObject({
    tool: 'question',
    input: 'Which store?',
    questions: [{ text: 'Which store?' }],
  })
  await answer('answer', { answers: ['SQLite'] })
  await until(() => posted.length === 1)
  expect(posted).toEqual([{ url: '/question/que_1/reply', body: { answers: [['SQLite']] }, headers }])
})

test('what its session does stands in lists of agents', async () => {
  const is = (doing: object) =>
    until(() => JSON.stringify(workspace.sessions.programState('opencode')?.doing) === JSON.stringify(doing))
  const begins = (type: string) => tell('session.status', { sessionID: 's2', status: { type } })
  begins('busy')
  await is({ state: 'busy' })
  // What a session that it has begun asks holds it up too.
  tell('permission.asked', { id: 'per_4', ...bash })
  await is({ state: 'waiting', for: 'a permission' })
  tell('permission.replied', { sessionID: 's1', requestID: 'per_4', reply: 'once' })
  await is({ state: 'busy' })
  begins('idle')
  await is({ state: 'idle' })
  tell('session.deleted', { info: { id: 's2' } })
})
