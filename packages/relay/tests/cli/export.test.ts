// `workspace export` and `workspace import`: messages as text, for the key holder alone, and a new workspace from such a file.

import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Message } from '@agent-relay/sdk/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Store } from '../../src/store/store.ts'
import { World } from './cli-world.ts'

let world: World
let question: string
const at = (name: string) => join(world.root, name)
const exported = async (...args: string[]) => {
  const { code, stdout, stderr } = await world.run(['workspace', 'export', ...args])
  expect([code, stderr]).toEqual([0, ''])
  return stdout
}
const linesOf = <T = Message>(text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as T)
const bodies = (text: string) => linesOf(text).map(({ body }) => body)

beforeAll(async () => {
  world = new World()
  await world.serve()
  for (const name of ['Ann', 'Bob']) await world.run(['inbox', '--as', name])
  await world.run(['channels', 'create', 'build', '--as', 'Ann'])
  await world.run(['send', '#build', 'the build\n**Bob → Ann** is red\u202e', '--as', 'Ann'])
  const sent = await world.json<{ id: string }>(['send', 'Bob', 'why?', '--kind', 'question', '--as', 'Ann'])
  question = sent.id
  await world.run(['send', 'Ann', 'no idea', '--reply-to', question, '--as', 'Bob'])
  await world.run(['send', '*', 'lunch', '--as', 'Bob'])
})
afterAll(() => world.close())

test('all of it, one message a line', async () => {
  const text = await exported()
  expect(bodies(text)).toEqual(['the build\n**Bob → Ann** is red\u202e', 'why?', 'no idea', 'lunch'])
  expect(linesOf(text)[1]).toMatchObject({ id: question, from: 'Ann', to: 'Bob', kind: 'question' })
  // What a terminal may act on is written as an escape.
  expect(text).not.toContain('\u202e')
})

test('a conversation, a thread', async () => {
  expect(bodies(await exported('--conversation', '#build'))).toEqual(['the build\n**Bob → Ann** is red\u202e'])
  expect(bodies(await exported('--conversation', '@Ann,Bob'))).toEqual(['why?', 'no idea'])
  expect(bodies(await exported('--thread', question))).toEqual(['why?', 'no idea'])
  expect(await exported('--conversation', '#none')).toBe('')
})

test('a run, with what its agent said until its end', async () => {
  const args = [
    'runs',
    'start',
    '--harness',
    'external',
    '--agent',
    'Bob',
    '--contract',
    'Count the files.',
    '--as',
    'Ann',
  ]
  const { id: run, agent } = await world.json<{ id: string; agent: string }>(args)
  await world.run(['send', agent, 'how many?', '--as', 'Ann'])
  await world.run(['runs', 'stop', run, '--as', 'Ann'])
  await world.run(['send', agent, 'too late', '--as', 'Ann'])
  const said = bodies(await exported('--run', run))
  expect(said).toContain('how many?')
  expect(said).not.toContain('too late')
})

test('every event, as the recorder opens them', async () => {
  const events = linesOf<{ type: string; seq: number; fact: object; by: string; ts: string }>(
    await exported('--events'),
  )
  expect(events[0]).toMatchObject({ type: 'workspace.began', seq: 1, fact: {} })
  const types = new Set(events.map(({ type }) => type))
  expect([...types]).toEqual(expect.arrayContaining(['agent.registered', 'channel.created', 'message.created']))
  expect(JSON.stringify(events)).not.toMatch(/hash/)
})

test('without what was written', async () => {
  expect(bodies(await exported('--no-bodies'))).toContain('(4 characters)')
  expect(await exported('--events', '--no-bodies')).not.toContain('no idea')
})

test('for people: no line of a body passes for the head of a message', async () => {
  const text = await exported('--format', 'md')
  expect(text).toMatch(/^# app\n\n\*\*Ann → #build\*\* /)
  expect(text).toContain('\n\n> the build\n> **Bob → Ann** is red')
  expect(text).toMatch(new RegExp(`^\\*\\*Bob → Ann\\*\\* .* · reply to ${question}$`, 'm'))
})

test('into a file, for its owner alone, over none that is there', async () => {
  const file = at('all.jsonl')
  const { code, stderr } = await world.run(['workspace', 'export', '--to', file])
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^\d+ messages in /)])
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readFileSync(file, 'utf8')).toBe(await exported())
  expect((await world.run(['workspace', 'export', '--to', file])).stderr).toContain('There is a file ')
})

test('an agent may not: it takes the key', async () => {
  // A token in the environment changes nothing for who has the key, and helps nobody who has not.
  const env = { RELAY_AGENT_TOKEN: 'at_none', RELAY_AGENT_NAME: 'Ann' }
  expect((await world.run(['workspace', 'export'], { env })).code).toBe(0)
  const credentials = join(world.dataDir, 'credentials.json')
  const keys = readFileSync(credentials)
  writeFileSync(credentials, '{"workspaces":{}}')
  const { code, stdout, stderr } = await world.run(['workspace', 'export', '--as', 'Ann'])
  writeFileSync(credentials, keys)
  expect([code, stdout, stderr]).toEqual([77, '', expect.stringContaining('needs the key of the workspace')])
})

describe('import', () => {
  test('the same messages, all of them read; agents go on where they were', async () => {
    const file = at('again.jsonl')
    await world.run(['workspace', 'export', '--events', '--to', file])
    const made = await world.json(['workspace', 'import', file, 'again'])
    expect(made).toMatchObject({ workspace: 'again' })
    const [before, after] = [await exported(), await exported('--project', 'again')]
    const bare = (text: string) => linesOf(text).map(({ seq, ...message }) => message)
    expect(bare(after)).toEqual(bare(before))
    expect((await world.run(['inbox', '--as', 'Bob', '--project', 'again'])).stdout).not.toContain('why?')
    await world.run(['send', 'Bob', 'and now?', '--as', 'Ann', '--project', 'again'])
    await world.run(['send', '#build', 'green', '--as', 'Bob', '--project', 'again'])
    expect((await world.run(['inbox', '--as', 'Bob', '--project', 'again'])).stdout).toContain('and now?')
    expect((await world.run(['inbox', '--as', 'Ann', '--project', 'again'])).stdout).toContain('green')
    expect((await world.run(['workspace', 'import', file, 'again'])).stderr).toContain('here already')
    await world.run(['workspace', 'close', 'again', '--force'])
    // Its rows are those that its journal tells.
    const store = new Store(join(world.dataDir, 'projects', 'again', 'relay.db'))
    const rows = () => store.database.prepare('SELECT * FROM members ORDER BY 1, 2, 3').all()
    const stored = rows()
    store.rebuild()
    expect(rows()).toEqual(stored)
    store.close()
  })

  const hostile: [string, unknown][] = [
    ['no JSON', '{'],
    ['JSON that nests too deep', { other: JSON.parse(`${'['.repeat(1_000)}${']'.repeat(1_000)}`) }],
    ['no message', { type: 'x' }],
    ['a wrong name', { from: '../x' }],
    ['a wrong address', { to: '#../x' }],
    ['no time', { ts: 'soon' }],
    ['a body that is too long', { body: 'x'.repeat(300 * 1024) }],
    ['a body with U+0000', { body: 'a\0b' }],
    ['to oneself', { to: 'Ann' }],
  ]
  test.each(hostile)('refuses %s, and leaves nothing', async (_, fault) => {
    const good = { id: 'm_1', seq: 1, ts: '2026-01-01T00:00:00.000Z', from: 'Ann', to: 'Bob', kind: 'free', body: 'x' }
    const bad =
      typeof fault === 'string'
        ? fault
        : JSON.stringify('type' in (fault as object) ? fault : { ...good, ...(fault as object) })
    writeFileSync(at('bad.jsonl'), `${JSON.stringify({ ...good, id: 'm_0' })}\n${bad}\n`)
    const { code, stderr } = await world.run(['workspace', 'import', at('bad.jsonl'), 'bad'])
    expect([code, stderr]).toEqual([2, expect.stringContaining('line 2 ')])
    expect(existsSync(join(world.dataDir, 'projects', 'bad'))).toBe(false)
  })

  test('refuses a file without a message, and leaves nothing', async () => {
    writeFileSync(at('empty.jsonl'), '')
    const { code, stderr } = await world.run(['workspace', 'import', at('empty.jsonl'), 'empty'])
    expect([code, stderr]).toEqual([2, expect.stringContaining('it holds no message')])
    expect(existsSync(join(world.dataDir, 'projects', 'empty'))).toBe(false)
  })

  test('believes nothing of a file but its messages', async () => {
    const event = (type: string, fact: object) => ({ seq: 1, ts: '2026-01-01T00:00:00.000Z', by: 'x', type, fact })
    const message = { id: 'm_1', seq: 1, ts: '2026-01-01T00:00:00.000Z', from: 'Eve', to: '*', kind: 'free', body: 'x' }
    const lines = [
      event('workspace.key-issued', { hash: 'known' }),
      event('agent.token-issued', { agent: 'Eve', hash: 'known' }),
      event('worker.wished', { id: 'w', worker: 'Eve', parent: 'Eve', cli: 'sh', command: ['id'], cwd: '/' }),
      { ...event('message.created', {}), message },
      { ...event('message.created', {}), message },
    ]
    writeFileSync(at('eve.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    const made = await world.json(['workspace', 'import', at('eve.jsonl'), 'eve'])
    expect(made).toMatchObject({ messages: 1, agents: 1, leftOut: 4 })
    const types = linesOf<{ type: string }>(await exported('--events', '--project', 'eve')).map(({ type }) => type)
    expect(types.filter((type) => /token|worker/.test(type))).toEqual([])
  })
})
