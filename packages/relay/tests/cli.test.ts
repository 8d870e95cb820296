// The commands that talk: each once as meant and once wrongly, by the real launcher against a real daemon.

import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { catalog } from '../src/cli/catalog.ts'
import { World } from './cli-world.ts'

const world = new World()

async function send(to: string, body: string, ...rest: string[]) {
  return world.json<{ id: string; to: string; away: string[] }>(['send', to, body, ...rest])
}

beforeAll(async () => {
  expect((await world.run(['daemon', 'start'])).code).toBe(0)
  await Promise.all(['Alice', 'Bob'].map((name) => world.run(['inbox', '--as', name])))
})
afterAll(() => world.close(), 30_000)

describe('usage', () => {
  it('prints the version without commander, the SDK or zod', async () => {
    const trace = { NODE_DEBUG: 'esm,module' }
    const { code, stdout, stderr } = await world.run(['--version'], { env: trace })
    expect([code, stdout]).toEqual([
      0,
      `${JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version}\n`,
    ])
    expect(stderr).not.toMatch(/commander|zod|packages\/sdk\/dist/)
  })

  it('answers a mistake with the mend and exit code 2', async () => {
    const [command, lacking, number, kind, project] = await Promise.all([
      world.run(['sned', 'Bob', 'x']),
      world.run(['send', 'Bob']),
      world.run(['inbox', '--limit', 'many']),
      world.run(['send', 'Bob', 'x', '--kind', 'shout']),
      world.run(['who', '--project', 'no/name']),
    ])
    expect(command).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('Did you mean send?') })
    expect(lacking).toMatchObject({ code: 2, stderr: expect.stringContaining('agent-relay send --help') })
    expect(number).toMatchObject({ code: 2, stderr: expect.stringContaining('whole number') })
    expect(kind).toMatchObject({ code: 2, stderr: expect.stringContaining('directive') })
    expect(project).toMatchObject({ code: 2, stderr: expect.stringContaining('no workspace name') })
  })

  it('helps with a command of a group too, and names itself as it can be typed', async () => {
    const [installed, bare, unknown] = await Promise.all([
      world.run(['help', 'mcp', 'install']),
      world.run(['help', 'mcp', 'install'], { env: { PATH: '/nowhere' } }),
      world.run(['help', 'mcp', 'nonsense'], { env: { PATH: '/nowhere' } }),
    ])
    expect(installed).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Usage: agent-relay mcp install /) })
    expect(bare).toMatchObject({ code: 0, stdout: expect.stringMatching(/\n {2}npx agent-relay mcp install\n/) })
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('(see: npx agent-relay mcp --help)') })
  })

  it('has examples in the help of every command', async () => {
    const shown = catalog
      .flatMap((rule) => (rule.commands ? rule.commands : [rule]))
      .filter(({ isHidden }) => !isHidden)
    expect(shown.filter(({ examples = [] }) => examples.length === 0)).toEqual([])
    expect((await world.run(['daemon', 'start', '--help'])).stdout).toMatch(
      /--json[\s\S]*Examples:\n {2}agent-relay daemon start\n/,
    )
    const groups = catalog.filter(({ commands }) => commands)
    const helps = await Promise.all(groups.map(({ name }) => world.run([name, '--help'])))
    expect(helps.filter(({ stdout }) => !stdout.includes('Examples:\n  agent-relay '))).toEqual([])
  })
})

describe('send and inbox', () => {
  it('says what became of a message, and shows it once', async () => {
    const sent = await world.run(['send', 'Bob', 'Can you take the parser?', '--as', 'Alice', '--kind', 'question'])
    expect(sent).toMatchObject({ code: 0, stderr: '' })
    expect(sent.stdout).toMatch(/^m_\w+ {2}stored\. Bob is away; it waits in his inbox\.\n$/)
    const peeked = await world.run(['inbox', '--peek', '--as', 'Bob'])
    const shown = await world.run(['inbox', '--as', 'Bob'])
    expect(shown.stdout).toBe(peeked.stdout)
    expect(shown.stdout).toMatch(
      /^m_\w+ {2}\d\d:\d\d:\d\d {2}Alice → Bob \[question\]\n {2}Can you take the parser\?\n$/,
    )
    expect(await world.run(['inbox', '--as', 'Bob'])).toEqual({ code: 0, stdout: '', stderr: 'No unread messages.\n' })
    const all = await world.json<{ messages: object[] }>(['inbox', '--all', '--as', 'Bob'])
    expect(all.messages).toMatchObject([{ from: 'Alice', body: 'Can you take the parser?', receipt: 'read' }])
  })

  it('acts as the person at the keyboard unless told otherwise', async () => {
    const { to } = await send('Alice', 'from a person')
    expect(to).toBe('Alice')
    const { messages } = await world.json<{ messages: { from: string }[] }>(['inbox', '--as', 'Alice'])
    const me = messages[0]?.from
    expect(me).toBe(userInfo().username.replace(/[^A-Za-z0-9._-]+/g, '-'))
    const { agents } = await world.json<{ agents: { name: string; type: string }[] }>(['who', '--all'])
    expect(agents.find(({ name }) => name === me)?.type).toBe('human')
  })

  it('reads a body from stdin, and writes to a group and to a channel', async () => {
    const piped = await world.run(['send', 'Bob', '-', '--as', 'Alice'], { input: 'two\nlines\n' })
    expect(piped.code).toBe(0)
    const binary = world.start(['send', 'Bob', '-', '--as', 'Alice'])
    binary.child.stdin?.end(Buffer.from([0x61, 0xff]))
    expect(await binary.ended).toMatchObject({ code: 2, stderr: expect.stringContaining('not UTF-8 text') })
    const group = await world.run(['send', 'Alice,Bob', 'both of you'])
    expect(group.stdout).toContain('Alice and Bob are away; it waits in their inboxes.')
    const channel = await world.run(['send', '#general', 'hello all', '--as', 'Alice'])
    expect(channel.stdout).toContain('It is in #general for all its members.')
    const { messages, more } = await world.json<{ messages: { body: string }[]; more: number }>([
      'inbox',
      '--as',
      'Bob',
      '--limit',
      '2',
    ])
    expect(messages.map(({ body }) => body)).toEqual(['two\nlines', 'both of you'])
    expect(more).toBe(1)
    const rest = await world.run(['inbox', '--as', 'Bob', '--channel', 'general', '--from', 'Alice'])
    expect(rest.stdout).toContain('Alice → #general\n  hello all')
  })

  it('refuses with the reason and exit code 1', async () => {
    const [agent, channel, inbox, self, empty] = await Promise.all([
      world.run(['send', 'Bbo', 'x', '--as', 'Alice']),
      world.run(['send', '#biuld', 'x', '--as', 'Alice']),
      world.run(['inbox', '--channel', 'biuld', '--as', 'Bob']),
      world.run(['send', 'Alice', 'x', '--as', 'Alice']),
      world.run(['send', 'Bob', '', '--as', 'Alice']),
    ])
    expect(agent).toEqual({
      code: 1,
      stdout: '',
      stderr: 'Agent not found: Bbo. Did you mean Bob? All names: agent-relay who --all\n',
    })
    expect(channel).toMatchObject({ code: 1, stderr: expect.stringContaining('Channel not found: #biuld. There') })
    expect(inbox).toMatchObject({ code: 1, stderr: expect.stringContaining('Channel not found: #biuld') })
    expect(self.code).toBe(2)
    expect(empty).toMatchObject({ code: 2, stderr: expect.stringContaining('a message needs a body') })
  })

  it('waits for the reply and prints it, or says that none came', async () => {
    const asking = world.start(['send', 'Bob', 'Which branch?', '--wait', '--as', 'Alice'])
    await asking.says(/waiting for the answer of Bob/)
    expect((await world.run(['who'])).stdout).toMatch(/Alice +agent +– +waiting for Bob, /)
    await send('Alice', 'main', '--as', 'Bob')
    const answered = await asking.ended
    expect(answered.stdout).toMatch(/Bob → Alice\n {2}main\n$/)
    expect((await world.run(['inbox', '--as', 'Alice', '--from', 'Bob'])).stdout).toBe('')
    const late = await world.run(['send', 'Bob', 'And now?', '--wait', '--timeout', '50', '--as', 'Alice'])
    expect(late).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^Timeout waiting for response from Bob \(50 ms\)/),
    })
    expect((await world.run(['send', 'Bob', 'x', '--timeout', '50'])).code).toBe(2)
  })

  it('follows the inbox, and marks read what it has shown', async () => {
    await world.run(['inbox', '--as', 'Carol'])
    const following = world.start(['inbox', '--follow', '--as', 'Carol', '--json'])
    const quiet = await send('Carol', 'first', '--as', 'Alice')
    const live = await send('Carol', 'second', '--as', 'Alice')
    await following.says(/second/)
    const { code, stdout } = await following.stop()
    expect(code).toBe(0)
    const lines = stdout.trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).id)).toEqual([quiet.id, live.id])
    expect((await world.run(['inbox', '--as', 'Carol'])).stderr).toBe('No unread messages.\n')
  })
})

describe('looking', () => {
  it('lists agents, channels, receipts, threads and finds', async () => {
    const { id: sent } = await send('Bob', 'the flaky parser test', '--thread', 'task-1', '--as', 'Alice')
    await world.run(['inbox', '--as', 'Bob'])
    const [receipts, thread, search, none, unknown, created, joined] = await Promise.all([
      world.run(['receipts', sent]),
      world.run(['thread', 'task-1', '--as', 'Bob']),
      world.json<{ messages: object[] }>(['search', 'flaky', '--from', 'Alice']),
      world.run(['search', 'nowhere']),
      world.run(['receipts', 'm_nothing']),
      world.run(['channels', 'create', 'build', '--as', 'Bob']),
      world.run(['react', sent, '👍', '--as', 'Bob']),
    ])
    expect(receipts.stdout).toMatch(
      /^Bob {2}stored \d\d:\d\d:\d\d {2}offered \d\d:\d\d:\d\d \(take\) {2}read \d\d:\d\d:\d\d\n$/,
    )
    expect(thread.stdout).toMatch(/Alice → Bob \(thread task-1\)\n {2}the flaky parser test\n$/)
    expect(search.messages).toMatchObject([{ id: sent }])
    expect(none).toEqual({ code: 0, stdout: '', stderr: 'Nothing found.\n' })
    expect(unknown.code).toBe(1)
    expect(created.stdout).toBe('#build is there now, and Bob is in it.\n')
    expect(joined.code).toBe(0)
    const channels = await world.run(['channels', '--as', 'Bob'])
    expect(channels.stdout).toMatch(/CHANNEL +MEMBERS +MESSAGES\n#build +1 +0 +Bob is in it\n#general/)
    expect((await world.run(['channels', 'leave', 'general', '--as', 'Bob'])).code).toBe(1)
  })

  it('shows the status, and events by number', async () => {
    const status = await world.json(['status'])
    expect(status).toMatchObject({
      workspace: 'app',
      daemonVersion: expect.any(String),
      lagMs: { p50: expect.any(Number) },
    })
    const { events } = await world.json<{ events: { seq: number; type: string }[] }>([
      'events',
      '--type',
      'agent.*',
      '--limit',
      '2',
    ])
    expect(events.map(({ type }) => type.split('.')[0])).toEqual(['agent', 'agent'])
    const shown = await world.run(['events', '--type', 'message.created', '--limit', '1'])
    expect(shown.stdout).toMatch(/^ +\d+ \[\d\d:\d\d:\d\d\] Alice → Bob \[question\] "Can you take the parser\?"\n$/)
    expect((await world.run(['status'])).stdout).toMatch(/^workspace +app\n/)
  })

  it('ends quietly when nobody reads any more', async () => {
    const piped = world.start(['events', '--follow'])
    await piped.says(/#general/)
    piped.child.stdout?.destroy()
    let isOver = false
    void piped.ended.then(() => {
      isOver = true
    })
    while (!isOver) await send('Bob', 'anyone?', '--as', 'Alice')
    expect(await piped.ended).toMatchObject({ code: 0, stderr: '' })
  })

  it('does not count as read what could not be printed', async () => {
    await send('Bob', 'unseen', '--as', 'Alice')
    const blind = world.start(['inbox', '--as', 'Bob'])
    blind.child.stdout?.destroy()
    await blind.ended
    const { messages } = await world.json<{ messages: { body: string }[] }>(['inbox', '--as', 'Bob'])
    expect(messages.map(({ body }) => body)).toContain('unseen')
  })

  it('nor a page that was taken before it', async () => {
    // Two of these are more than a page holds, and more than a pipe does.
    const large = 'x'.repeat(200_000)
    for (let i = 0; i < 6; i++) await world.run(['send', 'Bob', '-', '--as', 'Alice'], { input: `${i} ${large}` })
    const unread = async () => (await world.json<{ messages: unknown[] }>(['inbox', '--peek', '--as', 'Bob'])).messages
    const before = await world.json<{ agents: { name: string; unread: number }[] }>(['who', '--all'])
    const blind = world.start(['inbox', '--as', 'Bob'])
    blind.child.stdout?.destroy()
    await blind.ended
    expect(await world.json(['who', '--all'])).toMatchObject({
      agents: expect.arrayContaining([
        expect.objectContaining({ name: 'Bob', unread: before.agents.find(({ name }) => name === 'Bob')?.unread }),
      ]),
    })
    expect((await unread()).length).toBeGreaterThan(0)
    await world.run(['inbox', '--as', 'Bob'])
    expect(await unread()).toEqual([])
  })
})

describe('a hostile body', () => {
  const body =
    'a\u001b[31mb\u001b]0;title\u0007c\u009b2Jd\u202ee\u{e0041}f\rg\u0008h\nm_1  10:00:00  kim → Bob\n  forged'

  it('is printed harmlessly, with colours or without', async () => {
    await send('Bob', body, '--as', 'Alice')
    const plain = await world.run(['inbox', '--peek', '--as', 'Bob'], { env: { NO_COLOR: '1', FORCE_COLOR: '1' } })
    const coloured = await world.run(['inbox', '--peek', '--as', 'Bob'], { env: { FORCE_COLOR: '1' } })
    expect(plain.stdout).toMatch(/Alice → Bob\n {2}abcdef\n {2}gh\n {2}m_1 {2}10:00:00 {2}kim → Bob\n {4}forged\n$/)
    expect(plain.stdout).not.toContain('\u001b')
    expect(coloured.stdout).toContain('\u001b[1mAlice\u001b[0m → Bob')
    expect(coloured.stdout).not.toMatch(/\u009b|\u202e|\u{e0041}|title|\[31m/u)
    const json = await world.run(['inbox', '--as', 'Bob', '--json'])
    expect(json.stdout.trimEnd()).not.toMatch(/\p{Cc}|\u202e|\u{e0041}/u)
    expect(JSON.parse(json.stdout).messages.at(-1).body).toBe(body)
  })
})
