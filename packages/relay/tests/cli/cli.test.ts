// The commands that talk: each used once rightly and once wrongly, against a real daemon; by the real launcher where the process itself matters.

import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { allCommands, commandCatalog, dailyCommands } from '../../src/cli/catalog.ts'
import { ownNameAnywhere } from '../../src/cli/own-name.ts'
import { World } from './cli-world.ts'

const world = new World()

async function send(to: string, body: string, ...rest: string[]) {
  return world.json<{ id: string; to: string; away: string[] }>(['send', to, body, ...rest])
}

beforeAll(async () => {
  await world.serve()
  await Promise.all(['Alice', 'Bob'].map((name) => world.run(['inbox', '--as', name])))
})
afterAll(() => world.close())

interface Page {
  events: { seq: number; ts: string; type: string }[]
  earlier?: number
  cut?: number
}

describe('usage', () => {
  it('prints the version without commander, the SDK or zod', async () => {
    const trace = { NODE_DEBUG: 'esm,module' }
    const { code, stdout, stderr } = await world.launch(['--version'], { env: trace })
    expect([code, stdout]).toEqual([
      0,
      `${JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version}\n`,
    ])
    expect(stderr).not.toMatch(/commander|zod|packages\/sdk\/dist/)
  })

  it('answers a mistake with the fix and exit code 2', async () => {
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
      world.launch(['help', 'mcp', 'install'], { env: { PATH: '/nowhere' } }),
      world.launch(['help', 'mcp', 'nonsense'], { env: { PATH: '/nowhere' } }),
    ])
    const typed = ownNameAnywhere({})
    expect(installed).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Usage: agent-relay mcp install /) })
    expect(bare).toMatchObject({ code: 0, stdout: expect.stringContaining(`\n  ${typed} mcp install\n`) })
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining(`(see: ${typed} mcp --help)`) })
  })

  it('has examples in the help of every command', async () => {
    const all = await allCommands()
    const shown = all
      .flatMap((command) => (command.commands ? command.commands : [command]))
      .filter(({ isHidden }) => !isHidden)
    expect(shown.filter(({ examples = [] }) => examples.length === 0)).toEqual([])
    expect((await world.run(['daemon', 'start', '--help'])).stdout).toMatch(
      /--json[\s\S]*Examples:\n {2}agent-relay daemon start\n/,
    )
    const groups = all.filter(({ commands }) => commands)
    const helps = await Promise.all(groups.map(({ name }) => world.run([name, '--help'])))
    expect(helps.filter(({ stdout }) => !stdout.includes('Examples:\n  agent-relay '))).toEqual([])
  })
})

describe('send and inbox', () => {
  it('says what became of a message, and shows it once', async () => {
    const sent = await world.run(['send', 'Bob', 'Can you take the parser?', '--as', 'Alice', '--kind', 'question'])
    expect(sent).toMatchObject({ code: 0, stderr: '' })
    expect(sent.stdout).toMatch(/^m_\w+ {2}stored\. Bob is away; it waits in their inbox\.\n$/)
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
    const piped = await world.launch(['send', 'Bob', '-', '--as', 'Alice'], { input: 'two\nlines\n' })
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

  it('says that a long message is not shown whole', async () => {
    await world.run(['inbox', '--as', 'Carl'])
    const { stdout, stderr } = await world.run(['send', 'Carl', 'x'.repeat(24 * 1024 + 1)])
    expect([stdout, stderr]).toEqual([expect.stringContaining('stored.'), expect.stringMatching(/^It is long: /)])
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
      stderr: 'Agent not found: Bbo. Did you mean Bob? All names: agent-relay who --all --as Alice\n',
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
    expect(created.stdout).toBe('#build is created, and Bob is in it.\n')
    expect(joined.code).toBe(0)
    const channels = await world.run(['channels', '--as', 'Bob'])
    expect(channels.stdout).toMatch(/CHANNEL +MEMBERS +MESSAGES\n#build +1 +0 +Bob is in it\n#general/)
    expect((await world.run(['channels', 'leave', 'general', '--as', 'Bob'])).code).toBe(1)
    expect(await world.run(['channels', 'join', 'biuld', '--as', 'Bob'])).toMatchObject({
      code: 1,
      stderr:
        'Channel not found: #biuld. There are #build, #general. To make it: agent-relay channels create biuld --as Bob\n',
    })
    const removed = await world.run(['channels', 'remove', 'build', '--as', 'Bob'])
    expect(removed).toMatchObject({ code: 0, stdout: '#build is removed.\n' })
    expect((await world.run(['channels', 'remove', 'build', '--as', 'Bob'])).code).toBe(1)
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
    const first = await world.run(['events', '--since', '0', '--type', 'message.created', '--limit', '1'])
    expect(first.stdout).toMatch(/^ +\d+ \[\d\d:\d\d:\d\d\] Alice → Bob \[question\] "Can you take the parser\?"\n$/)
    const on = /^To go on: agent-relay (events --since \d+ --type "message\.created" --limit 1)\n$/.exec(first.stderr)
    const next = await world.run(on?.[1]?.replaceAll('"', '').split(' ') ?? [])
    await send('Bob', 'the newer', '--as', 'Alice')
    await send('Bob', 'the newest', '--as', 'Alice')
    const newest = await world.run(['events', '--type', 'message.created', '--limit', '2'])
    expect(newest.stdout).toMatch(/^ +\d+ .* "the newer"\n +\d+ .* "the newest"\n$/)
    expect(newest.stderr).toMatch(
      /^Earlier ones: agent-relay events --before \d+ --type "message\.created" --limit 2\n$/,
    )
    const numbers = [first, next, newest].flatMap(({ stdout }) =>
      [...stdout.matchAll(/^ +(\d+) \[/gm)].map(([, n]) => Number(n)),
    )
    expect(new Set(numbers).size).toBe(4)
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b))
    expect((await world.run(['status'])).stdout).toMatch(/^workspace +app\n/)
  })

  it('says of a type of events that there is none', async () => {
    for (const type of ['mesage.*', 'message*', 'message.made'])
      expect(await world.run(['events', '--type', type])).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(/^No event is of the type "\S+"\. There are .*message\.\*.*\nNo events\.\n$/),
      })
    expect((await world.run(['events', '--type', '*', '--limit', '1'])).stderr).not.toContain('No event is of')
  })

  it('shows the events since a time', async () => {
    const all = await world.json<Page>(['events', '--since', '0', '--limit', '500'])
    const numbers = ({ events }: Page) => events.map(({ seq }) => seq)
    for (const since of ['1d', '5h', '90m', '2020-01-31T09:00', '2020-01-31'])
      expect(numbers(await world.json<Page>(['events', '--since', since, '--limit', '500']))).toEqual(numbers(all))
    const { ts } = all.events[Math.floor(all.events.length / 2)] as Page['events'][number]
    const later = await world.json<Page>(['events', '--since', ts, '--limit', '500'])
    expect(numbers(later)).toEqual(numbers({ events: all.events.filter((event) => event.ts >= ts) } as Page))
    expect((await world.json<Page>(['events', '--since', '2999-01-31T09:00:00Z'])).events).toEqual([])
    for (const since of ['soon', '10x', '-5', '2026-99-99'])
      expect(await world.run(['events', `--since=${since}`])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`--since is "${since}": it must be the number of an event, 10m, 2h or 1d`),
      })
  })

  it('shows exactly as many events as were asked for, and leads to the rest without a gap', async () => {
    const all = (await world.json<Page>(['events', '--limit', '500'])).events.length
    // A registration is one entry with several events.
    const pages: Page[] = []
    for (let before: number | undefined = Number.MAX_SAFE_INTEGER; before !== undefined; ) {
      const page: Page = await world.json(['events', '--before', String(before), '--limit', '4'])
      pages.unshift(page)
      before = page.earlier
    }
    const [first, ...full] = pages.map(({ events }) => events.length)
    expect([first, new Set(full)]).toEqual([expect.any(Number), new Set([4])])
    const texts = pages.flatMap(({ events }) => events.map((event) => JSON.stringify(event)))
    expect(new Set(texts).size).toBe(all)
    const asked = ['events', '--since', '0', '--type', 'channel.joined', '--limit', '1']
    const one = await world.json<Page>(asked)
    expect([one.events.length, one.cut]).toEqual([1, 1])
    const { stderr } = await world.run(asked)
    const words = /^All of \d+: agent-relay (events --since \d+ --type "channel\.joined" --limit 2)$/m.exec(stderr)
    const both = await world.run(words?.[1]?.replaceAll('"', '').split(' ') ?? [])
    expect(both.stdout.match(/ joins /g)).toHaveLength(2)
  })

  it('--follow begins with the newest', async () => {
    const following = world.start(['events', '--follow', '--type', 'message.created', '--limit', '1'])
    await following.says(/"the newest"/)
    await send('Bob', 'newer still', '--as', 'Alice')
    await following.says(/"newer still"/)
    following.child.kill('SIGINT')
    const { stdout } = await following.ended
    expect(stdout.match(/"[^"]+"/g)).toEqual(['"the newest"', '"newer still"'])
  })

  it('a noun works in singular and plural, and an unknown word in a group is told', async () => {
    for (const [noun, other] of [
      ['agents', 'agent'],
      ['channels', 'channel'],
      ['workspace', 'workspaces'],
    ] as const)
      expect(await world.run([noun])).toEqual(await world.run([other]))
    expect((await world.run(['help', 'channel'])).stdout).toMatch(/^Usage: agent-relay channels /)
    expect(await world.run(['channel', 'lst'])).toEqual({
      code: 2,
      stdout: '',
      stderr: "error: unknown command 'lst'\n(Did you mean list?)\n(see: agent-relay channels --help)\n",
    })
  })

  it('an option may stand before the command of a group, and a word too many is told as one', async () => {
    expect(await world.run(['channels', '--json', 'list'])).toEqual(await world.run(['channels', 'list', '--json']))
    expect(await world.run(['workspace', '--json', 'policy', 'get'])).toEqual(
      await world.run(['workspace', 'policy', 'get', '--json']),
    )
    const [unknown, twice] = [await world.run(['runs', '--json', 'stop', 'run_none']), ['runs', 'stop', 'run_none']]
    expect(unknown).toEqual(await world.run([...twice, '--json']))
    const excess = "error: too many arguments for 'list'. Expected 0 arguments but got 1.\n"
    const told = { code: 2, stdout: '', stderr: `${excess}(see: agent-relay channels list --help)\n` }
    expect(await world.run(['channels', 'list', 'foo'])).toEqual(told)
    expect((await world.run(['channels', '--as', 'Bob', 'list', 'list'])).stderr).toContain(excess)
    expect((await world.run(['channels', '--as', 'Bob', 'lst'])).stderr).toMatch(/^error: unknown command 'lst'/)
    expect((await world.run(['channels', '--nothing', 'list'])).stderr).toMatch(/^error: unknown option '--nothing'/)
  })

  it('lists the ten commands of a day on one screen, and every command when all are asked for', async () => {
    const [help, all] = await Promise.all([world.run(['--help']), world.run(['help', 'all'])])
    expect(help.stdout.match(/^ {2}[a-z]+(?= )/gm)).toEqual(dailyCommands.map((name) => `  ${name}`))
    const lines = help.stdout.split('\n')
    expect(lines.length).toBeLessThan(30)
    expect(lines.filter((line) => line.length > 80)).toEqual([])
    expect(help.stdout).toContain('Every command: agent-relay help all\n')
    expect(all.stdout.match(/^[A-Z][a-z-]+:$/gm)).toEqual(
      ['Options', 'Talk', 'Agents', 'Work', 'Workspace', 'Set-up', 'Care', 'Examples'].map((title) => `${title}:`),
    )
    const shown = commandCatalog.filter(({ isHidden }) => !isHidden)
    expect(shown.filter(({ name }) => !all.stdout.includes(`\n  ${name} `))).toEqual([])
  })

  it('older spellings work as before and stand in no help', async () => {
    const [agents, list, start, events] = await Promise.all([
      world.run(['agents', 'list']),
      world.run(['agents', '--help']),
      world.run(['runs', 'start', '--help']),
      world.run(['events', '--help']),
    ])
    expect(agents).toEqual(await world.run(['who']))
    expect(list.stdout).not.toMatch(/^ {2}list/m)
    expect(start.stdout).not.toContain('--harness')
    expect(events.stdout).not.toContain('--follow')
  })

  it('tail begins with what has happened since a number', async () => {
    await send('Bob', 'said before the tail', '--as', 'Alice')
    const tail = world.start(['tail', '--since', '0', '--type', 'message.created'])
    await tail.says(/said before the tail/)
    tail.child.kill('SIGINT')
    expect(await tail.ended).toMatchObject({ code: 0 })
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
    for (let i = 0; i < 6; i++) await world.launch(['send', 'Bob', '-', '--as', 'Alice'], { input: `${i} ${large}` })
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
