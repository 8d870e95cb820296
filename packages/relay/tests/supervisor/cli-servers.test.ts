// The own interfaces of opencode and Codex, against servers that answer as the real ones do (test/real has those): their questions are reported
// whole, and an answer goes to the question it was given to. And the server that runs beside a worker's terminal.

import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { json } from 'node:stream/consumers'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { WebSocketServer } from 'ws'
import { until } from '../../../../test/until.ts'
import { shellScriptIn } from '../../src/supervisor/codex/questions.ts'
import { CodexWorkerServer } from '../../src/supervisor/codex/worker-server.ts'
import { startCompanion } from '../../src/supervisor/companion-server.ts'
import { codexHarness } from '../../src/supervisor/harness/codex.ts'
import type { Harness, LaunchContext } from '../../src/supervisor/harness/harness.ts'
import { plainHarness } from '../../src/supervisor/harness/plain.ts'
import { opencodeCliServer } from '../../src/supervisor/opencode/server.ts'
import { carrying, WorkerWorld } from './worker-world.ts'

const answered = (choice: string, more: object = {}) => ({ how: 'answered', kind: 'allow', choice, ...more }) as const

describe('opencode', () => {
  const call = { messageID: 'm1', callID: 'c1' }
  const bash = {
    id: 'per_1',
    sessionID: 's1',
    permission: 'bash',
    patterns: ['touch a'],
    metadata: { command: 'touch a' },
    always: ['touch *'],
    tool: call,
  }

  async function opened(answers: Record<string, unknown>) {
    const posted: { path: string | undefined; body: unknown }[] = []
    const server = createServer(async (request, response) => {
      if (request.method === 'POST')
        posted.push({ path: request.url, body: await json(request).catch(() => undefined) })
      const answer = request.method === 'POST' ? true : answers[request.url ?? '']
      if (answer === undefined) response.statusCode = 404
      response.end(JSON.stringify(answer ?? {}))
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const { readDialog: asked, interrupt } = opencodeCliServer({ port, secret: 'x', agent: undefined })
    return { asked: () => asked?.(), interrupt: () => interrupt?.(), posted }
  }

  const part = { callID: 'c1', state: { input: { command: 'touch a', workdir: '/etc', description: 'work' } } }

  test('a command is told with the directory that it would run in, and an answer carries words', async () => {
    const answers = { '/permission': [bash], '/session/s1/message/m1': { parts: [{}, part] } }
    const { asked, posted } = await opened(answers)
    const dialog = await asked()
    expect(dialog).toMatchObject({ identity: 'per_1', tool: 'bash', input: 'touch a\n{"workdir":"/etc"}' })
    expect(dialog?.choices.map(({ id, kind }) => [id, kind])).toEqual([
      ['once', 'allow'],
      ['always', 'always'],
      ['reject', 'deny'],
    ])
    await dialog?.answer(answered('reject', { words: 'Use a branch.' }))
    expect(posted).toEqual([{ path: '/permission/per_1/reply', body: { reply: 'reject', message: 'Use a branch.' } }])
  })

  test('a change is told by its diff, and leave for a directory by its patterns', async () => {
    const diff = '--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-one\n+two\n'
    const edit = { ...bash, permission: 'edit', metadata: { filepath: '/w/a.txt', diff } }
    expect((await (await opened({ '/permission': [edit] })).asked())?.input).toBe(`/w/a.txt\n${diff.trim()}`)
    const directory = { ...bash, permission: 'external_directory', patterns: ['/etc/*'], tool: undefined }
    expect((await (await opened({ '/permission': [directory] })).asked())?.input).toBe('/etc/*\ntouch a')
  })

  test('questions of its model are a choice, answered one by one', async () => {
    const options = [{ label: 'Postgres', description: 'large' }, { label: 'SQLite' }]
    const asks = { id: 'que_1', questions: [{ question: 'Which store?', header: 'Store', options, multiple: true }] }
    const { asked, posted } = await opened({ '/permission': [], '/question': [asks] })
    const dialog = await asked()
    expect(dialog).toMatchObject({
      tool: 'question',
      questions: [{ text: 'Which store?', isMany: true, options: [{ label: 'Postgres', text: 'large' }, options[1]] }],
    })
    await dialog?.answer({ how: 'answered', kind: 'other', choice: 'answer', answers: ['SQLite'] })
    await dialog?.answer({ how: 'answered', kind: 'deny', choice: 'deny' })
    expect(posted).toEqual([
      { path: '/question/que_1/reply', body: { answers: [['SQLite']] } },
      { path: '/question/que_1/reject', body: {} },
    ])
  })

  test('an interrupt aborts each session that is at work, and says so where none is', async () => {
    const answers = { '/session/status': { s1: { type: 'busy' }, s2: { type: 'idle' }, 's/3': { type: 'retry' } } }
    const { interrupt, posted } = await opened(answers)
    expect(await interrupt()).toBe(true)
    expect(posted.map(({ path }) => path)).toEqual(['/session/s1/abort', '/session/s%2F3/abort'])
    answers['/session/status'] = {} as never
    expect(await interrupt()).toBe(false)
    expect(posted).toHaveLength(2)
    await expect((await opened({})).interrupt()).rejects.toThrow('404')
    await expect((await opened({ '/session/status': { s1: 7 } })).interrupt()).rejects.toThrow()
  })

  test.each([
    ['nothing is asked', { '/permission': [], '/question': [] }, undefined],
    ['an answer that is not understood', { '/permission': [{ id: 7 }] }, 'rejects'],
    ['a server that knows no such path', {}, 'rejects'],
  ])('%s', async (_, answers, end) => {
    const { asked } = await opened(answers)
    const dialog = asked()
    await (end === 'rejects' ? expect(dialog).rejects.toThrow() : expect(dialog).resolves.toBeUndefined())
  })
})

describe('codex', () => {
  const root = mkdtempSync(join(tmpdir(), 'codex-server-'))
  const socket = join(root, 'codex.sock')
  const context = { directory: root, server: { command: 'n', args: [] }, identity: {}, cwd: '/w' }
  const launch = (...args: string[]) =>
    codexHarness.launch({ ...context, isInjected: false, args } as unknown as LaunchContext)
  afterEach(() => rmSync(socket, { force: true }))

  /** Asks again whoever joins, as the real one does. */
  async function server(
    asks: object[],
    items: object[] = [],
    more: Record<string, object | 'nothing' | 'closes'> = {},
  ) {
    const http = createServer()
    const heard: { id?: unknown; method?: string; result?: unknown }[] = []
    const says: ((message: object) => void)[] = []
    new WebSocketServer({ server: http }).on('connection', (client) => {
      const say = (message: object) => client.send(JSON.stringify(message))
      says.push(say)
      client.on('message', (data) => {
        const message = JSON.parse(String(data))
        const { id, method } = message
        heard.push(message)
        if (method === undefined || id === undefined) return
        const thread = { id: 't1', cwd: '/w', ephemeral: false }
        const flags = asks.length > 0 ? ['waitingOnApproval'] : []
        const results: Record<string, object> = {
          initialize: { userAgent: 'stand-in' },
          'thread/loaded/list': { data: ['t1'] },
          'thread/read': { thread: { ...thread, status: { type: 'active', activeFlags: flags } } },
          'thread/resume': { initialTurnsPage: { data: [{ items }] } },
        }
        const special = more[method]
        if (special === 'closes') return client.terminate()
        if (special === 'nothing') return
        say({ id, ...(special ?? { result: results[method] ?? {} }) })
        if (method === 'thread/resume') for (const each of asks) say(each)
      })
    })
    http.listen(socket)
    await once(http, 'listening')
    onTestFinished(() => {
      http.closeAllConnections()
      http.close()
    })
    return { heard, say: (message: object) => says.at(-1)?.(message) }
  }

  const runs = (id: number, command: string, more: object = {}) => ({
    ...{ id, method: 'item/commandExecution/requestApproval' },
    params: { threadId: 't1', itemId: `i${id}`, command, cwd: '/w', ...more },
  })
  const changes = (id: number) => ({
    ...{ id, method: 'item/fileChange/requestApproval' },
    params: { threadId: 't1', itemId: `i${id}` },
  })

  test('a command as it would run, and where, if that is elsewhere; the answer goes to that question', async () => {
    const asks = [runs(0, `/bin/bash -lc 'touch a'`, { cwd: '/etc', availableDecisions: ['accept', 'cancel'] })]
    const { heard, say } = await server(asks)
    const worker = new CodexWorkerServer(socket, '/w')
    const asked = () => worker.readDialog()
    const dialog = await asked?.()
    expect(dialog).toMatchObject({ identity: 't1 0', tool: 'shell', input: 'touch a\n{"cwd":"/etc"}' })
    expect(dialog?.choices.map(({ id }) => id)).toEqual(['accept', 'decline'])
    await dialog?.answer(answered('accept'))
    await until(() => heard.some(({ id, result }) => id === 0 && result !== undefined))
    expect(heard.at(-1)).toEqual({ id: 0, result: { decision: 'accept' } })
    // An answered question is not told again; the next one is, without joining again.
    asks.length = 0
    say({ method: 'serverRequest/resolved', params: { threadId: 't1', requestId: 0 } })
    await until(async () => (await asked?.()) === undefined)
    say(runs(1, `/bin/bash -lc "echo \\"a\\""`))
    await until(async () => (await asked?.())?.input === 'echo "a"')
  })

  test('what it does, and what each turn has used, told by its server', async () => {
    const { say, heard } = await server([])
    const spent: object[] = []
    const conversations = new Set<string>()
    const worker = new CodexWorkerServer(socket, '/w')
    const following = worker.follow({
      onChange: () => {},
      onSpent: (spend) => void spent.push(spend),
      onConversation: (id) => void conversations.add(id),
    })
    onTestFinished(() => following.end())
    const status = (type: string, ...activeFlags: string[]) =>
      say({ method: 'thread/status/changed', params: { threadId: 't1', status: { type, activeFlags } } })
    const used = (inputTokens: number, outputTokens: number) => {
      const total = { inputTokens, outputTokens, cachedInputTokens: 0 }
      say({ method: 'thread/tokenUsage/updated', params: { threadId: 't1', tokenUsage: { total } } })
    }
    await until(() => heard.some(({ method }) => method === 'thread/read'))
    // Until Codex has begun to work, its screen is looked at.
    expect(following.doing).toBeUndefined()
    await until(() => {
      status('active')
      return following.doing?.state === 'busy'
    })
    await until(() => heard.filter(({ method }) => method === 'thread/resume').length === 1)
    status('active', 'waitingOnApproval')
    await until(() => following.doing?.reason === 'it waits for a permission')
    used(10, 5)
    used(20, 9)
    status('idle')
    await until(() => spent.length === 1)
    expect(following.doing).toEqual({ state: 'idle' })
    following.onMessageGiven()
    expect(following.doing).toEqual({ state: 'busy' })
    status('active')
    used(50, 10)
    status('idle')
    await until(() => spent.length === 2)
    const tokens = (input: number, output: number) => ({ model: undefined, tokens: { input, output, cached: 0 } })
    expect(spent).toEqual([tokens(20, 9), tokens(30, 1)])
    expect([...conversations]).toEqual(['t1'])
    expect(heard.filter(({ method }) => method === 'thread/resume')).toHaveLength(1)
  })

  test.each([
    ['its newest turn is under way', {}, 'inProgress', true],
    ['its newest turn is over', {}, 'completed', false],
    ['it refuses to list its turns', { 'thread/turns/list': { error: { code: 1, message: 'no' } } }, '', 'no'],
    ['it refuses to interrupt', { 'turn/interrupt': { error: { code: 1, message: 'no' } } }, 'inProgress', 'no'],
    ['it answers in another form', { 'thread/turns/list': { result: { data: [{ id: 7 }] } } }, '', 'not as expected'],
    ['it never answers', { 'turn/interrupt': 'nothing' }, 'inProgress', 'did not answer turn/interrupt'],
    ['it closes', { 'turn/interrupt': 'closes' }, 'inProgress', 'it has ended'],
  ] as const)('an interrupt where %s', async (_, more, status, outcome) => {
    const turns = { result: { data: [{ id: 'turn-1', status, items: [] }] } }
    const { heard } = await server([], [], { 'thread/turns/list': turns, ...more })
    const worker = new CodexWorkerServer(socket, '/w')
    const following = worker.follow({ onChange: () => {}, onSpent: () => {}, onConversation: () => {} })
    onTestFinished(() => following.end())
    expect(await worker.interrupt()).toBe(false)
    await worker.readDialog()
    if (typeof outcome === 'string') await expect(worker.interrupt()).rejects.toThrow(outcome)
    else expect(await worker.interrupt()).toBe(outcome)
    const told = heard.filter(({ method }) => method === 'turn/interrupt')
    const isTold = status === 'inProgress'
    expect(told).toMatchObject(isTold ? [{ params: { threadId: 't1', turnId: 'turn-1' } }] : [])
  })

  test('changes of files with all that changes, also of a step that began later', async () => {
    const change = (path: string, type: string, diff: string) => ({ path, kind: { type }, diff })
    const item = (id: string, ...of: object[]) => ({ type: 'fileChange', id, changes: of })
    const first = item('i0', change('/w/a', 'add', 'one\ntwo'), change('/w/b', 'update', '@@ -1 +1 @@\n-x\n+y\n'))
    const { say } = await server([changes(0)], [first])
    const worker = new CodexWorkerServer(socket, '/w')
    const asked = () => worker.readDialog()
    const dialog = await asked?.()
    expect(dialog?.input).toBe('/w/a\n@@ written @@\n+one\n+two\n/w/b\n@@ -1 +1 @@\n-x\n+y')
    say({ method: 'serverRequest/resolved', params: { requestId: 0 } })
    say({ method: 'item/started', params: { item: item('i1', change('/w/c', 'delete', 'gone')) } })
    say(changes(1))
    await until(async () => (await asked?.())?.input === '/w/c\n@@ replaced @@\n-gone')
  })

  test('what it asks in another way is not told, and a change that is not known is an error', async () => {
    await server([{ id: 0, method: 'item/tool/requestUserInput', params: { threadId: 't1' } }])
    expect(await new CodexWorkerServer(socket, '/w').readDialog?.()).toBeUndefined()
    await expect(new CodexWorkerServer(join(root, 'nobody'), '/w').readDialog?.()).rejects.toThrow()
  })

  test.each([
    [`/bin/bash -lc 'touch a'`, 'touch a'],
    [`bash -c "echo \\$HOME \\"x\\""`, 'echo $HOME "x"'],
    [`/bin/zsh -lc ls`, 'ls'],
    [`/bin/bash -lc 'it'"'"'s'`, `it's`],
    [`/bin/bash -lc 'ls' x`, `/bin/bash -lc 'ls' x`],
    [`/bin/bash -lc "$(rm -rf /)"`, `/bin/bash -lc "$(rm -rf /)"`],
    [`/tmp/bash -lc 'ls'`, `/tmp/bash -lc 'ls'`],
    ['rm -rf dist', 'rm -rf dist'],
  ])('%s runs %s', (command, script) => {
    expect(shellScriptIn(command)).toBe(script)
  })

  test.each([
    [['--search', '-s', 'read-only', '-m', 'x'], []],
    [
      ['-c', 'a=1', '--config=b=2', '--enable', 'x'],
      ['-c', 'a=1', '--config=b=2', '--enable', 'x'],
    ],
    [['resume', '--last'], undefined],
    [['--profile', 'x'], undefined],
    [['--remote', 'ws://x'], undefined],
  ])('%j: the settings of its server', (args, settings) => {
    const { companion } = launch(...args)
    const server = settings && ['app-server', ...settings, '--listen', `unix://${socket}`]
    expect(companion?.args).toEqual(server)
    expect(companion?.clientArgs.slice(2)).toEqual(settings && args)
  })
})

describe('a server beside the terminal', () => {
  const listens = `require('node:net').createServer().listen(process.argv[1])`
  const waits = 'setInterval(() => {}, 1000)'
  const paired: Harness = {
    ...plainHarness,
    name: 'paired',
    program: process.execPath,
    launch({ directory, args }) {
      const socket = join(directory, 'beside.sock')
      const script = args.includes('dead') ? 'process.exit(1)' : listens
      const companion = { args: ['-e', script, socket], socket, clientArgs: ['-e', waits, 'with-server'] }
      return { args: ['-e', waits, 'alone'], env: {}, companion }
    },
  }

  async function hire(...args: string[]) {
    const world = await WorkerWorld.start({ harnesses: [paired] })
    onTestFinished(() => world.stop())
    await world.lead.call('worker.spawn', { name: 'Eve', cli: 'paired', args, cwd: world.root })
    const pids = () => carrying(`RELAY_SOCKET=${world.socketPath}`)
    const read = (name: string) => pids().map((pid) => readFileSync(`/proc/${pid}/${name}`, 'utf8'))
    /** The last argument of each program, which tells the programs apart. */
    const kinds = () => read('cmdline').map((line) => basename(line.split('\0').at(-2) ?? ''))
    const areStopped = () => read('stat').map((stat) => /\) (\w)/.exec(stat)?.[1] === 'T')
    return { lead: world.lead, kinds, areStopped }
  }

  test('starts before the program, is paused with it, and ends with it', async () => {
    const { lead, kinds, areStopped } = await hire()
    expect(kinds().sort()).toEqual(['beside.sock', 'with-server'])
    await lead.call('worker.pause', { name: 'Eve' })
    await until(() => areStopped().every(Boolean))
    await lead.call('worker.resume', { name: 'Eve' })
    await until(() => !areStopped().some(Boolean))
    await lead.call('worker.release', { name: 'Eve' })
    await until(() => kinds().length === 0)
  })

  test('one that does not listen is done without', async () => {
    expect((await hire('dead')).kinds()).toEqual(['alone'])
  })

  test('a program that is not there', async () => {
    const options = { file: '/nowhere', args: [], cwd: '/', env: {}, socket: '/nowhere', clientArgs: [] }
    expect(await startCompanion(options)).toBeUndefined()
  })
})
