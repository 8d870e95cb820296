// The hook that Claude Code runs beside its permission dialog, as a real process on a real daemon: its output after an answer in the queue, its
// silence otherwise, and its detection of an answer at the terminal.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { socketPathOf } from '@agent-relay/sdk/internal/discover'
import type { Approval } from '@agent-relay/sdk/protocol'
import { makeIds } from '@agent-relay/sdk/wire'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isWithin, until } from '../../../../../test/until.ts'
import type { Workspace } from '../../../src/broker/workspace.ts'
import { pipeLauncher } from '../../cli/cli-world.ts'
import { HttpWorld } from '../../wires/http-world.ts'

const id = makeIds()
const work = realpathSync(mkdtempSync(join(tmpdir(), 'relay-permission-')))
const transcript = join(work, 'transcript.jsonl')
let world: HttpWorld
let workspace: Workspace
let token: string
beforeAll(async () => {
  world = await HttpWorld.start()
  workspace = (await world.daemon.open('home')).workspace
  token = await world.token('Hooked')
})
afterAll(async () => {
  await world?.stop()
  rmSync(work, { recursive: true, force: true })
})

const bash = { tool_name: 'Bash', tool_input: { command: 'touch made', description: 'make it' } }
const body = (more: object = {}) => ({ ...bash, cwd: work, transcript_path: transcript, ...more })
const environment = (more: Record<string, string> = {}) => {
  const own = { RELAY_AGENT_NAME: 'Hooked', RELAY_AGENT_TOKEN: token, RELAY_SOCKET: socketPathOf(world.dir, 'home') }
  return { PATH: process.env.PATH ?? '', HOME: world.dir, RELAY_DATA_DIR: world.dir, ...own, ...more }
}
const run = (said: unknown, env: Record<string, string> = {}) => {
  const child = spawn(process.execPath, [pipeLauncher, 'hook', 'PermissionRequest', '--cli', 'claude'], {
    env: environment(env),
    cwd: work,
  })
  child.stdin.end(typeof said === 'string' ? said : JSON.stringify(said))
  return { child, ended: outcomeOf(child) }
}
async function outcomeOf(child: ChildProcessWithoutNullStreams) {
  let stdout = ''
  child.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  const [code] = await once(child, 'close')
  return { code, decision: stdout === '' ? undefined : JSON.parse(stdout).hookSpecificOutput.decision }
}
const shown = () => workspace.approvals.list({ standing: { rank: 'holder' } }).approvals
const opened = async (): Promise<Approval> => {
  await until(() => shown().length === 1)
  return shown()[0] as Approval
}
/** As a person on the page. */
const answer = ({ id: own, digest }: Approval, choice: string, words?: string) =>
  workspace.engine.submit({
    rule: 'approval.answer',
    input: { id: own, digest, choice, words, surface: 'page', standing: { rank: 'holder' } },
    by: 'agent-relay',
    cause: id('c'),
  })
const closed = (own: string) => workspace.store.view.approvals.byId(own)?.closed
const silence = { code: 0, decision: undefined }

test('prints what was answered in the queue: yes, no with words, and always for this session alone', async () => {
  const cases: [string, string | undefined, object][] = [
    ['allow', undefined, { behavior: 'allow' }],
    ['deny', 'Use a branch.', { behavior: 'deny', message: 'Use a branch.' }],
    ['deny', undefined, { behavior: 'deny', message: 'A person said no.' }],
  ]
  for (const [choice, words, decision] of cases) {
    const { ended } = run(body())
    const asked = await opened()
    expect(asked).toMatchObject({
      agent: 'Hooked',
      vendor: 'claude',
      tool: 'Bash',
      input: 'touch made',
      directory: work,
    })
    await answer(asked, choice, words)
    expect(await ended).toEqual({ code: 0, decision })
  }
  const proposed = [{ type: 'addRules', rules: [{ toolName: 'Bash', ruleContent: 'touch *' }], behavior: 'allow' }]
  for (const [suggestions, rules] of [
    [proposed.map((each) => ({ ...each, destination: 'localSettings' })), [{ ...proposed[0], destination: 'session' }]],
    [[], [{ ...proposed[0], rules: [{ toolName: 'Bash', ruleContent: 'touch made' }], destination: 'session' }]],
  ]) {
    const { ended } = run(body({ permission_suggestions: suggestions }))
    await answer(await opened(), 'always')
    expect(await ended).toEqual({ code: 0, decision: { behavior: 'allow', updatedPermissions: rules } })
  }
})

test('shows what else a command is given, and how much of a long one is not shown', async () => {
  const ask = async (input: object) => {
    const { ended, child } = run(body({ tool_input: input }))
    const asked = await opened()
    child.kill('SIGKILL')
    await ended
    await until(() => shown().length === 0)
    return asked
  }
  const more = { description: 'list', timeout: 5, dangerouslyDisableSandbox: true }
  const loose = await ask({ command: 'ls', ...more })
  expect([loose.input, loose.hidden]).toEqual(['ls\n{"dangerouslyDisableSandbox":true}', undefined])
  const long = await ask({ command: 'x'.repeat(100_000) })
  expect([long.input.length, long.hidden]).toEqual([4_000, { chars: 96_000 }])
})

test('waits for a call that its CLI writes slowly', async () => {
  const child = spawn(process.execPath, [pipeLauncher, 'hook', 'PermissionRequest', '--cli', 'claude'], {
    ...{ env: environment(), cwd: work },
  })
  const ended = outcomeOf(child)
  const text = JSON.stringify(body())
  child.stdin.write(text.slice(0, 20))
  // Longer than the hooks wait that come before every edit.
  expect(await isWithin(2_500, ended)).toBe(false)
  child.stdin.end(text.slice(20))
  await answer(await opened(), 'allow')
  expect(await ended).toEqual({ code: 0, decision: { behavior: 'allow' } })
})

test('a question of its model is a choice: a yes is no answer, and what is answered reaches the model', async () => {
  const questions = [
    {
      question: 'Which store?',
      header: 'Store',
      multiSelect: false,
      options: [{ label: 'Postgres', description: 'several machines' }, { label: 'SQLite' }],
    },
    {
      question: 'Which checks?',
      header: 'Checks',
      multiSelect: true,
      options: [{ label: 'unit' }, { label: 'types' }],
    },
  ]
  const { ended } = run(body({ tool_name: 'AskUserQuestion', tool_input: { questions } }))
  const asked = await opened()
  expect(asked.questions).toEqual([
    { text: 'Which store?', options: [{ label: 'Postgres', text: 'several machines' }, { label: 'SQLite' }] },
    { text: 'Which checks?', options: [{ label: 'unit' }, { label: 'types' }], isMany: true },
  ])
  expect(asked.input).toBe(
    'Which store?\n  1  Postgres: several machines\n  2  SQLite\nWhich checks?\n  1  unit\n  2  types',
  )
  const reply = (more: object) => {
    const input = {
      id: asked.id,
      digest: asked.digest,
      surface: 'page',
      standing: { rank: 'holder' },
      ...more,
    } as never
    return workspace.engine.submit({ rule: 'approval.answer', input, by: 'agent-relay', cause: id('c') })
  }
  for (const wrong of [{ choice: 'allow' }, { choice: 'answer' }, { choice: 'answer', answers: ['SQLite'] }])
    expect(await reply(wrong)).toMatchObject({
      refusal: {
        code: 'approval.choice',
        details: { why: expect.stringContaining('Which store? 1 (Postgres), 2 (SQLite), or words') },
      },
    })
  expect(await reply({ choice: 'answer', answers: ['neither: a file', 'unit, types'] })).toMatchObject({
    outcome: { kind: 'other' },
  })
  const answers = { 'Which store?': 'neither: a file', 'Which checks?': 'unit, types' }
  expect((await ended).decision).toEqual({ behavior: 'allow', updatedInput: { questions, answers } })
})

test('a question that is not understood is answered at the terminal alone', async () => {
  const { child, ended } = run(body({ tool_name: 'AskUserQuestion', tool_input: { questions: [{ ask: 1 }] } }))
  expect((await opened()).choices).toEqual([])
  child.kill()
  await ended
  await until(() => shown().length === 0)
})

test('shows all of what a tool is given that is not a command', async () => {
  const { ended, child } = run(body({ tool_name: 'Write', tool_input: { file_path: '/w/a.ts', content: 'x' } }))
  expect((await opened()).input).toBe('/w/a.ts\n@@ written @@\n+x')
  child.kill('SIGKILL')
  await ended
  await until(() => shown().length === 0)
})

test('closes what the terminal has answered, by what the transcript says, and says nothing', async () => {
  const line = (content: object) => `${JSON.stringify({ message: { content: [content] } })}\n`
  const use = (call: string) => line({ type: 'tool_use', id: call, name: 'Bash', input: bash.tool_input })
  const result = (call: string, more: object) => line({ type: 'tool_result', tool_use_id: call, ...more })
  const refusal = { content: "The user doesn't want to proceed with this tool use.", is_error: true }
  // The same call was allowed before: that is no answer to this one.
  writeFileSync(transcript, use('t0') + result('t0', { content: '' }))
  for (const [call, more, kind] of [
    ['t1', { content: '' }, 'allow'],
    ['t2', refusal, 'deny'],
  ] as const) {
    appendFileSync(transcript, use(call))
    const { ended } = run(body())
    const asked = await opened()
    // The result of another call says nothing about this one.
    appendFileSync(transcript, result('t9', { content: '' }))
    appendFileSync(transcript, result(call, more))
    expect(await ended).toEqual(silence)
    expect(closed(asked.id)).toMatchObject({ how: 'terminal', kind })
  }
})

test('a hook that its host has ended closes what it asked: taken back, or gone', async () => {
  for (const [signal, how] of [
    ['SIGTERM', 'cancelled'],
    ['SIGKILL', 'gone'],
  ] as const) {
    const { child, ended } = run(body({ transcript_path: undefined }))
    const asked = await opened()
    child.kill(signal)
    await ended
    await until(() => closed(asked.id) !== undefined)
    expect([signal, closed(asked.id)?.how]).toEqual([signal, how])
  }
})

test('says nothing to garbage, for a stranger, with a forged token, and where no daemon runs', async () => {
  for (const said of [
    '',
    'no json',
    '[]',
    '{}',
    '{"tool_name":1,"tool_input":{}}',
    '{"tool_name":"Bash","tool_input":null}',
  ])
    expect(await run(said).ended).toEqual(silence)
  expect(await run(body(), { RELAY_AGENT_TOKEN: 'at_forged' }).ended).toEqual(silence)
  expect(await run(body(), { RELAY_AGENT_NAME: '', RELAY_AGENT_TOKEN: '' }).ended).toEqual(silence)
  expect(await run(body(), { RELAY_SOCKET: join(work, 'none.sock') }).ended).toEqual(silence)
  expect(shown()).toEqual([])
})
