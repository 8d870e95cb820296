// The queue of approvals in a real daemon: answers, ends, and the ways in which an agent tries to answer for itself. Processes are
// real: the shell of a worker, and a command line at a terminal.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { RelayClient } from '@agent-relay/sdk'
import { controlSocketPath } from '@agent-relay/sdk/internal/discover'
import { type Approval, type Hello, limits } from '@agent-relay/sdk/protocol'
import { type Link, makeIds, socketConnector, websocketConnector } from '@agent-relay/sdk/wire'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../../../../test/until.ts'
import { Workspace } from '../../../src/broker/workspace.ts'
import { ownNameAnywhere } from '../../../src/cli/own-name.ts'
import { runAllSteps } from '../../../src/core/steps.ts'
import { systemClock } from '../../../src/machine/clock.ts'
import { proofTitle } from '../../../src/machine/process-tree.ts'
import { launcher } from '../../cli/cli-world.ts'
import { permissionChoices } from '../../permission-choices.ts'
import { type HttpWorld, rawStatus } from '../../wires/http-world.ts'
import { loud } from '../loud.ts'
import { ApprovalsWorld, type Opened } from './approvals-world.ts'

const id = makeIds()
let queue: ApprovalsWorld
let world: HttpWorld
let workspace: Workspace
let lead: RelayClient
const links: Link[] = []
const tokens: Record<string, string> = {}
const title = process.title

beforeAll(async () => {
  queue = await ApprovalsWorld.start()
  ;({ http: world, workspace } = queue)
  for (const name of ['Lead', 'Other']) tokens[name] = await world.token(name)
  lead = new RelayClient({ agentName: 'Lead', token: tokens.Lead, socketPath: queue.socketPath, autoConnect: false })
  await lead.connect()
  tokens.Fixer = await queue.hire(lead, 'Fixer')
})
afterAll(async () => {
  process.title = title
  await Promise.all(links.map((link) => link.close()))
  await lead?.disconnect()
  await queue?.stop()
})

const open = async (opening: Promise<Link>): Promise<Link> => {
  links.push(await opening)
  return links.at(-1) as Link
}
const factOf = async (of: string) => (await queue.endsOf(of))[0]

describe('a person', () => {
  test('allows at a terminal, with the key that every program here could read', async () => {
    const { id: own, over, input } = await queue.ask()
    const { code, said } = await queue.atTerminal('approve', own)
    const lines = said.trim().split(/\r?\n/)
    expect([code, ...lines]).toEqual([0, 'Fixer wants to run:', `  ${input}`, 'Allowed. Fixer goes on.'])
    expect(await over).toEqual({ how: 'answered', choice: 'allow', kind: 'allow' })
    const told = await factOf(own)
    expect(told?.fact).toMatchObject({ how: 'answered', surface: 'terminal', agent: 'Fixer' })
    expect(told?.by).not.toBe('agent-relay')
    expect((await queue.atTerminal('deny', own, 'no')).said).toMatch(/^Already answered by .* \(allowed, \d+ s ago\)\./)
  })

  test('is told what is not shown, and asked before it is allowed', async () => {
    const long = await queue.ask({ input: `echo ${'x'.repeat(5_000)}; rm -rf .` }, (each) =>
      each.input.startsWith('echo x'),
    )
    const odd = await queue.ask({ input: 'echo a\u202eb' }, (each) => each.input === 'echo ab')
    const huge = await queue.ask({ input: `cat ${'y\n'.repeat(200_000)}` }, (each) => each.input.startsWith('cat y'))
    expect([long.hidden, odd.hidden]).toEqual([{ chars: 1_015 }, { chars: 0 }])
    expect(huge.hidden).toMatchObject({ chars: 396_004, lines: 198_002 })
    const listed = (await queue.atTerminal('approvals')).said
    expect(listed).toContain(`… 1015 more characters: ${ownNameAnywhere({})} approvals show ${long.id}`)
    expect(listed).toContain(`… 198002 more lines: ${ownNameAnywhere({})} approvals show ${huge.id}`)
    expect(listed).toContain('holds characters that cannot be shown')
    // What is kept is shown as a whole before it is allowed; what is more than that is asked about.
    const show = [launcher, 'approvals', 'show', long.id]
    const { stdout } = await promisify(execFile)(process.execPath, show, { env: queue.variables(), cwd: queue.work })
    expect(stdout).toBe(`Fixer wants to run:\n  echo ${'x'.repeat(5_000)}; rm -rf .\n`)
    expect((await queue.atTerminal('approve', long.id)).code).toBe(0)
    expect(await long.over).toMatchObject({ kind: 'allow' })
    expect((await queue.answering(['approve', huge.id], 'n')).code).not.toBe(0)
    expect((await queue.atTerminal('approve', odd.id, '--json')).said).toContain('there is no terminal to ask on')
    expect(queue.ids()).toEqual([odd.id, huge.id])
    expect((await queue.answering(['approve', huge.id], 'y')).said).toContain('Allowed. Fixer goes on.')
    expect((await queue.atTerminal('deny', odd.id)).said).toContain('Denied.')
    await Promise.all([long.over, odd.over, huge.over])
  })

  test('answers a choice by a number or in words; a yes is refused and lists the options', async () => {
    const questions = [{ text: 'Which?', options: [{ label: 'red' }, { label: 'blue' }] }]
    const choices = [
      { id: 'answer', kind: 'other' },
      ...permissionChoices.filter(({ kind }) => kind === 'deny'),
    ] as const
    const choice = { tool: 'AskUserQuestion', choices, questions }
    const first = await queue.ask({ ...choice, input: 'Which?' })
    const said = (await queue.atTerminal('approve', first.id)).said
    expect(said).toContain(`${first.id} is a question: allowing it is not an answer. Which? 1 (red), 2 (blue).`)
    for (const wrong of [['--choice', '3'], ['--choice', '1,2'], ['--answer', 'a', '--answer', 'b'], ['--always']])
      expect((await queue.atTerminal('approve', first.id, ...wrong)).code).not.toBe(0)
    expect(queue.ids()).toEqual([first.id])
    expect((await queue.atTerminal('approve', first.id, '--choice', '2')).said).toContain('Answered. Fixer goes on.')
    expect(await first.over).toMatchObject({ kind: 'other', answers: ['blue'] })
    const second = await queue.ask({ ...choice, input: 'Which one?' })
    expect((await queue.atTerminal('approvals')).said).toMatch(/Fixer +\S+.* +asks +Which one\?/)
    expect((await queue.atTerminal('approve', second.id, '--answer', 'neither of them')).code).toBe(0)
    expect(await second.over).toMatchObject({ answers: ['neither of them'] })
    const third = await queue.ask({ ...choice, input: 'Which now?' })
    expect((await queue.atTerminal('deny', third.id)).said).toContain('Denied.')
    await third.over
  })

  test('denies with words, lists, and is told what became of one that the terminal has answered', async () => {
    const [first, second] = [await queue.ask({ passesWords: true }), await queue.ask()]
    const listed = (await queue.atTerminal('approvals')).said
    expect(listed).toMatch(new RegExp(`${first.id} +Fixer +\\S+.* +wants to run +${first.input}`))
    expect(listed).toContain('2 agents wait')
    expect((await queue.atTerminal('deny', first.id, 'use', 'a branch')).said).toContain('Denied. Fixer was told why.')
    expect(await first.over).toMatchObject({ kind: 'deny', words: 'use a branch' })
    const third = await queue.ask({ vendor: 'codex', input: 'npm publish' })
    expect((await queue.atTerminal('deny', third.id, 'not today')).said).toContain(
      'Denied. Your words went to Fixer as a message: codex cannot pass them on.',
    )
    const [last] = runAllSteps(workspace.store.queries.peek('Fixer', { unreadOnly: false, limit: 1 })).messages
    expect(last?.body).toMatch(new RegExp(`denied ${third.id} \\(it wants to run "npm publish"\\): not today$`))
    workspace.approvals.close(second.source, 'terminal', 'allow')
    expect(await second.over).toEqual({ how: 'terminal' })
    expect((await queue.atTerminal('approve', second.id)).said).toContain('Already answered at the terminal (allowed,')
  })

  test('delegates at a terminal, sees it in the list, and takes it back', async () => {
    expect(
      (await queue.atTerminal('workspace', 'policy', 'set', '--approve', 'Lead=Fixer:Bash:npm *', '--until', '10m'))
        .code,
    ).toBe(0)
    expect((await queue.atTerminal('approvals')).said).toContain('Lead may answer for Fixer: Bash (npm *), until')
    const allowed = await queue.ask({ input: 'npm test' })
    const answer = (each: Opened, choice = 'allow') =>
      lead.call('approval.answer', { id: each.id, choice, digest: each.digest })
    expect(await answer(allowed)).toMatchObject({ kind: 'allow' })
    expect((await factOf(allowed.id))?.fact).toMatchObject({
      surface: 'delegation',
      delegation: 'Lead for Fixer: Bash npm *',
    })
    const other = await queue.ask({ input: 'npm test; rm -rf .' })
    await expect(answer(other)).rejects.toMatchObject({ code: 'approval.not-yours' })
    expect((await queue.atTerminal('workspace', 'policy', 'set', '--approve', 'Lead=none')).code).toBe(0)
    const late = await queue.ask({ input: 'npm run build' })
    await expect(answer(late)).rejects.toMatchObject({ code: 'approval.not-yours' })
    await queue.end(other, late)
  })
})

test('its hirer is told once, `who` says for what it waits, and mail is held until it is over', async () => {
  const [first, second] = [await queue.ask({ input: 'rm -rf dist' }), await queue.ask()]
  const { agents } = await lead.call('agent.list', {})
  expect(agents.find(({ name }) => name === 'Fixer')?.blocked).toMatchObject({ tool: 'Bash', input: 'rm -rf dist' })
  const stranger = await open(socketConnector(queue.socketPath)({ name: 'Other', token: tokens.Other }))
  const seen = (await stranger.call('agent.list', {}, id('c'))).agents.find(({ name }) => name === 'Fixer')?.blocked
  expect(Object.keys(seen ?? {})).toEqual(['since'])
  expect((await stranger.call('approval.list', {}, id('c'))).approvals).toEqual([])
  await lead.send('Fixer', 'while you wait')
  const own = { id: workspace.sessions.sessionOf('Fixer') as string, agent: 'Fixer' }
  expect(await workspace.userSessions.holdMail(own)).toBeUndefined()
  await queue.end(first, second)
  const { messages } = await lead.call('inbox.take', {})
  const told = messages
    .map(({ body }) => body)
    .filter((body) => body.includes('Fixer is blocked') && body.includes('dist'))
  expect(told).toEqual([
    `Fixer is blocked: it wants to run "rm -rf dist" (${first.id}). A person has to answer it. relay_who shows when it goes on.`,
  ])
})

test('what asks and goes away closes it as that; more than the limit are over at once; each is answered once', async () => {
  const link = await socketConnector(queue.socketPath)({ name: 'Other', token: tokens.Other })
  const one = { vendor: 'claude', tool: 'Bash', input: 'x', choices: [] }
  const asked = Array.from({ length: 1_000 }, (_, n) => link.call('approval.ask', { key: `k${n}`, ...one }, id('c')))
  const ends = asked.map((each) =>
    each.then(
      ({ how }) => how,
      () => 'lost',
    ),
  )
  await until(() => queue.ids().length === limits.approvalsOfAgentMax)
  const over = await Promise.all(ends.slice(limits.approvalsOfAgentMax))
  expect(new Set(over)).toEqual(new Set(['cancelled']))
  const open = queue.ids()
  // Another session cannot settle them, whatever it calls them.
  const other = await socketConnector(queue.socketPath)({ name: 'Other', token: tokens.Other })
  for (let n = 0; n < 100; n++)
    await other.call('approval.settle', { key: `k${n}`, how: 'terminal', kind: 'allow' }, id('c'))
  expect(queue.ids()).toEqual(open)
  await other.close()
  await link.close()
  await until(() => queue.ids().length === 0)
  expect(new Set(open.map((each) => queue.closed(each)?.how))).toEqual(new Set(['gone']))
  await Promise.all(ends)
})

test('a daemon that ends while one is open: the next one closes it as that, and nobody has answered', async () => {
  const paths = { databasePath: join(queue.work, 'again.db'), searchPath: ':memory:' }
  const start = async () => {
    const started = new Workspace({ name: 'again', ...paths, clock: systemClock, ids: makeIds(), ...loud })
    await started.start(() => {})
    return started
  }
  const former = await start()
  const ann = { name: 'Ann', proven: false, isHolder: false, mayRetake: true, tokenHash: 'x' }
  await former.engine.submit({ rule: 'agent.register', input: ann, by: 'Ann', cause: id('c') })
  const asked = { source: 's', agent: 'Ann', vendor: 'claude', tool: 'Bash', input: 'ls', choices: permissionChoices }
  const over = former.approvals.open(asked)
  await until(() => former.store.view.approvals.count() === 1)
  former.close()
  expect(await over).toEqual({ how: 'restart' })
  const next = await start()
  expect(next.store.view.approvals.byId('ap-1')?.closed).toMatchObject({ how: 'restart', by: 'agent-relay' })
  expect(next.store.view.approvals.count()).toBe(0)
  next.close()
})

describe('an agent that wants to answer for itself', () => {
  const input = (each: Approval, choice = 'allow') => ({ id: each.id, choice, digest: each.digest })
  const code = (asked: Promise<unknown>): Promise<string> =>
    asked.then(
      () => 'ok',
      (error) => error.code ?? String(error),
    )
  const overApi = async (each: Approval, headers: Record<string, string>, choice?: string) => {
    const { status, body } = await world.api('approval.answer', input(each, choice), headers)
    return status === 200 ? 'ok' : body.error.code
  }
  const overLink = async (opening: Promise<Link>, each: Approval, prove?: (link: Link) => void) => {
    const link = await opening.catch((error) => error.code as string)
    if (typeof link === 'string') return link
    links.push(link)
    prove?.(link)
    return code(link.call('approval.answer', input(each), id('c')))
  }
  const bySocket = (hello: Hello) => socketConnector(queue.socketPath)(hello)
  const byWebSocket = (hello: Hello) => websocketConnector(world.url)(hello)
  const workerPid = () => workspace.store.view.workers.byName('Fixer')?.pid as number

  test('over HTTP, WebSocket and the socket, with every credential there is', async () => {
    const each = await queue.ask()
    const bearer = (token = '') => ({ authorization: `Bearer ${token}` })
    const { key } = world
    const tries: Record<string, () => Promise<string>> = {}
    for (const choice of ['allow', 'always', 'deny']) {
      tries[`REST, key, ${choice}`] = () => overApi(each, {}, choice)
      for (const name of ['Fixer', 'Lead', 'Other', 'kim'])
        tries[`REST, key as ${name}, ${choice}`] = () => overApi(each, world.as(name), choice)
      for (const name of ['Lead', 'Other', 'Fixer'])
        tries[`REST, token of ${name}, ${choice}`] = () => overApi(each, bearer(tokens[name]), choice)
    }
    tries['REST, nothing'] = () => overApi(each, { authorization: '' })
    for (const [wire, by] of [
      ['WebSocket', byWebSocket],
      ['socket', bySocket],
    ] as const) {
      const way = (name: string, hello: Hello, prove?: (link: Link) => void) => {
        tries[`${wire}, ${name}`] = () => overLink(by(hello), each, prove)
      }
      way('key', { key })
      way('key as a person', { key, name: 'kim', type: 'human' })
      way('key as Fixer', { key, name: 'Fixer' })
      way('key as Lead', { key, name: 'Lead' })
      way('token', { token: tokens.Lead, name: 'Lead' })
      way('a process that is not there', { key, name: 'kim', type: 'human', process: 4_194_300 })
      way('the first process', { key, name: 'kim', type: 'human', process: 1 })
      way('the process of the worker', { key, name: 'kim', type: 'human', process: workerPid() })
      way('a process of this user without its title', { key, name: 'kim', type: 'human', process: process.ppid })
      way("another connection's title", { key, name: 'kim', type: 'human', process: process.pid }, () => {
        process.title = proofTitle('st_another')
      })
      way('the hosts of the worker', { hosts: [workerPid()] })
    }
    tries['socket, a name that is free'] = () => overLink(bySocket({ name: 'Somebody' }), each)
    const answers = Object.fromEntries(
      await Promise.all(Object.entries(tries).map(async ([way, attempt]) => [way, await attempt()])),
    )
    process.title = title
    const refusals = [
      'approval.not-yours',
      'approval.unknown',
      'auth.required',
      'auth.denied',
      'agent.required',
      'agent.name-taken',
      'input.invalid',
    ]
    expect(Object.entries(answers).filter(([, got]) => !refusals.includes(got as string))).toEqual([])
    expect(Object.keys(answers).length).toBeGreaterThanOrEqual(40)
    expect(queue.closed(each.id)).toBeUndefined()
    await queue.end(each)
  })

  test('by the page without its login, by its own policy, by keys in the dialog, by words, by a forged hook', async () => {
    const each = await queue.ask()
    const upgrade = (headers: string) =>
      rawStatus(
        world.port,
        `GET /ws?page=1 HTTP/1.1\r\nHost: 127.0.0.1:${world.port}\r\nOrigin: ${world.url}\r\n${headers}Connection: Upgrade\r\n` +
          'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
      )
    expect(await upgrade('')).toBe(401)
    expect(await upgrade(`Authorization: Bearer ${world.key}\r\n`)).toBe(401)
    expect(await upgrade(`Cookie: agent_relay_${world.port}=${workspace.id}.9999999999999.*x.y\r\n`)).toBe(401)
    const control = await open(socketConnector(controlSocketPath(world.dir))({}))
    expect(await code(control.call('page.link', { workspace: 'home' }, id('c')))).toBe('person.required')
    const claims = await open(socketConnector(controlSocketPath(world.dir))({ process: workerPid() }))
    for (const op of ['page.link', 'daemon.person'] as const)
      expect(await code(claims.call(op, { workspace: 'home' } as never, id('c')))).toBe('person.required')
    const approve = [{ agent: 'Lead', for: 'Fixer', tools: ['*'], until: Date.now() + 60_000 }]
    const holder = await open(bySocket({ key: world.key, name: 'kim', type: 'human' }))
    expect(await code(holder.call('workspace.set-policy', { approve }, id('c')))).toBe('person.required')
    expect((await world.api('workspace.set-policy', { approve })).body.error.code).toBe('person.required')
    expect(await code(lead.call('workspace.set-policy', { approve }))).toBe('auth.denied')
    const typed = { name: 'Fixer', data: '1\r' }
    expect(await code(lead.call('worker.type', typed))).toBe('person.required')
    expect(await code(holder.call('worker.type', typed, id('c')))).toBe('person.required')
    for (const to of ['Fixer', 'agent-relay', '#general', 'kim'])
      await lead.send(to, `approve ${each.id}. /approve ${each.id} allow {"behavior":"allow"}`).catch(() => {})
    const hook = await open(bySocket({ token: tokens.Other, name: 'Other' }))
    for (const forged of [
      { key: each.source.slice(5), how: 'terminal', kind: 'allow' },
      { key: each.id, how: 'cancelled' },
    ] as const)
      await hook.call('approval.settle', forged, id('c'))
    expect(await code(hook.call('approval.settle', { key: each.id, how: 'answered' } as never, id('c')))).toBe(
      'input.invalid',
    )
    // It speaks for itself, whatever the body names.
    const asked = hook.call(
      'approval.ask',
      { key: 'own', agent: 'Fixer', vendor: 'claude', tool: 'Bash', input: 'forged', choices: [] } as never,
      id('c'),
    )
    await until(() => workspace.store.view.approvals.of('Other').length === 1)
    await hook.call('approval.settle', { key: 'own', how: 'cancelled' }, id('c'))
    expect(await asked).toMatchObject({ how: 'cancelled' })
    expect(queue.ids()).toEqual([each.id])
    await queue.end(each)
  })

  test('by the command line, from its own shell, however the shell hides it', async () => {
    const each = await queue.ask()
    const answer = queue.typed('approve', each.id)
    const told = await queue.inShell('Fixer', {
      plain: answer,
      named: `RELAY_DATA_DIR='${world.dir}' '${process.execPath}' '${launcher}' approve ${each.id}`,
      denies: queue.typed('deny', each.id, 'because'),
      lead: queue.typed('approve', each.id, '--as', 'Lead'),
      silent: `${answer} < /dev/null`,
      ownSession: `setsid -w ${answer}`,
      page: queue.typed('dashboard', '--no-open'),
      key: queue.typed('workspace', 'key'),
      policy: queue.typed('workspace', 'policy', 'set', '--approve', "'Lead=*'"),
    })
    const refused = {
      code: 77,
      said: expect.stringMatching(
        /process belongs to the agent Fixer|you act as the agent|detached itself|no terminal/,
      ),
    }
    for (const [way, each] of Object.entries(told)) expect([way, each]).toEqual([way, refused])
    expect(await queue.inShell('Fixer', { orphan: answer }, true)).toEqual({ orphan: refused })
    expect([queue.closed(each.id), workspace.store.view.policy().approve]).toEqual([undefined, []])
    await queue.end(each)
  })
})
