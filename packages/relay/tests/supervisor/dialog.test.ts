// Dialogs on the screens of CLIs: the lines of the question, the choices, and the keys that choose them. And a dialog that is
// answered in the queue, at the terminal, or by nobody.

import { makeIds } from '@agent-relay/sdk/wire'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { Workspace } from '../../src/broker/workspace.ts'
import type { ApprovalRow, WorkerRow } from '../../src/core/view.ts'
import { systemClock } from '../../src/machine/clock.ts'
import { PtyControl } from '../../src/supervisor/control/pty-control.ts'
import { DialogQuestions } from '../../src/supervisor/dialog.ts'
import { plainHarness } from '../../src/supervisor/harness/plain.ts'
import { ProgramOutput } from '../../src/supervisor/output.ts'
import { openPty } from '../../src/supervisor/pty.ts'
import { parseScreenDialog, readScreenDialog } from '../../src/supervisor/screen-dialog.ts'
import { loud } from '../broker/loud.ts'

const claude = `
● Bash(rm -rf dist)
╭──────────────────────────────────────────────────╮
│ Bash command                                     │
│                                                  │
│   rm -rf dist                                    │
│   Remove the build                               │
│                                                  │
│ Do you want to proceed?                          │
│ ❯ 1. Yes                                         │
│   2. Yes, and don't ask again for rm in /w       │
│   3. No, and tell Claude what to do differently  │
╰──────────────────────────────────────────────────╯
   Esc to cancel`
const codex = `
  Would you like to run the following command?

  $ rm -rf dist

› 1. Yes, proceed (y)
  2. Yes, and don't ask again for this session (a)
  3. No, and tell Codex what to do differently (esc)

  Press enter to confirm or esc to cancel`
const gemini = `
│ Allow execution of: 'rm'? │
│ ● 1. Allow once           │
│   2. Allow for this session │
│   3. No, suggest changes (esc) │`

test.each([
  ['Claude Code', claude, 'rm -rf dist', ['allow', 'other', 'deny']],
  ['Codex', codex, '$ rm -rf dist', ['allow', 'always', 'deny']],
  ['Gemini CLI', gemini, "Allow execution of: 'rm'?", ['allow', 'always', 'deny']],
])('%s', (_, screen, asks, kinds) => {
  const { text, choices } = parseScreenDialog(screen.split('\n'))
  expect(text.split('\n')).toContain(asks)
  expect(choices.map(({ id }) => id)).toEqual(['1', '2', '3'])
  expect(choices.map(({ kind }) => kind)).toEqual(kinds)
  expect(text).not.toMatch(/Esc to cancel|[╭│╰]/)
})

test('begins at its question: what was asked before it is no part of it', () => {
  const before = codex
    .replace('rm -rf dist', 'touch esc-2')
    .replace(/\n› 1[\s\S]*/, '\n\n✗ You canceled the request to run touch esc-2\n')
  const { text, command } = parseScreenDialog(`${before}\n${codex.replace('rm -rf dist', 'touch esc-3')}`.split('\n'))
  expect(text).toBe('Would you like to run the following command?\n$ touch esc-3')
  expect(command).toBe('touch esc-3')
  expect(parseScreenDialog(`I deleted $HOME.\nShall I go on?\n${claude}`.split('\n')).text).toBe(
    'Bash command\nrm -rf dist\nRemove the build\nDo you want to proceed?',
  )
  // Printed by a model above another dialog, it hides nothing of that.
  const forged = parseScreenDialog(`Would you like to run the following command?\n\n$ ls\n\n${gemini}`.split('\n'))
  expect(forged).toMatchObject({ command: undefined, text: expect.stringContaining("Allow execution of: 'rm'?") })
  // Only Codex says so: elsewhere a line with a dollar is a part of the question like any other.
  expect(parseScreenDialog('Trust it?\n$ ls\n1. Yes\n2. No'.split('\n'))).toMatchObject({
    text: 'Trust it?\n$ ls',
    command: undefined,
  })
})

test.each([
  ['Yes', 'allow'],
  ['Yes, proceed (y)', 'allow'],
  ['Allow once', 'allow'],
  ['Yes, just this once', 'allow'],
  ['Approve', 'allow'],
  ['Yes, I trust this folder', 'other'],
  ['Yes, and auto-accept edits', 'other'],
  ['Yes, and bypass permissions', 'other'],
  ['Yes, I accept', 'other'],
  ["Yes, and don't ask again for rm", 'other'],
  ['Allow always', 'other'],
  ['Yes, allow all edits during this session (shift+tab)', 'always'],
  ['No', 'deny'],
  ['No, and tell Codex what to do differently (esc)', 'deny'],
  ["No, and don't ask again", 'other'],
])('"%s" is %s', (label, kind) => {
  expect(parseScreenDialog(['Run it?', `1. ${label}`, '2. Whatever']).choices[0]?.kind).toBe(kind)
})

test('a label that goes on below its first line is read as a whole, and what stands further left is no part of it', () => {
  const screen = ['Run it?', '❯ 1. Yes', '     and all that follows', '  2. No', ' Esc to cancel']
  expect(parseScreenDialog(screen).choices).toEqual([
    { id: '1', kind: 'other', label: 'Yes and all that follows' },
    { id: '2', kind: 'deny', label: 'No' },
  ])
})

test.each([
  ['no choices', 'Login\nPaste code here:'],
  ['a list that somebody printed, with a gap', 'Steps\n1. one\n3. three'],
  ['one alone', '1. Yes'],
])('%s: nothing to choose', (_, screen) => {
  expect(parseScreenDialog(screen.split('\n')).choices).toEqual([])
})

const id = makeIds()
let workspace: Workspace
let keys: string[]
let screen: string | undefined
let dialogs: DialogQuestions
const row = { id: 'wk', name: 'Fixer', cli: 'codex', cwd: '/w' } as WorkerRow
const questions = (of = row) =>
  new DialogQuestions(of, workspace.approvals, async () =>
    screen === undefined ? undefined : readScreenDialog(screen.split('\n'), async (key) => void keys.push(key)),
  )
beforeEach(async () => {
  const paths = { databasePath: ':memory:', searchPath: ':memory:' }
  workspace = new Workspace({ name: 'home', ...paths, clock: systemClock, ids: makeIds(), ...loud })
  await workspace.start(() => {})
  await register('Fixer')
  keys = []
  screen = codex
  dialogs = questions()
})
afterEach(() => workspace.close())

const register = (name: string) => {
  const input = { name, proven: false, isHolder: false, mayRetake: true, tokenHash: 'x' }
  return workspace.engine.submit({ rule: 'agent.register', input, by: name, cause: id('c') })
}
const open = () => workspace.store.view.approvals.open()
const closedAs = (own: string) => workspace.store.view.approvals.byId(own)?.closed?.how
/** A screen is looked at again and again. */
const seen = () =>
  until(async () => {
    await dialogs.look()
    return open().length === 1
  })
const answer = ({ id: own, digest }: ApprovalRow, choice: string) => {
  const input = { id: own, choice, digest, surface: 'page', standing: { rank: 'holder' } } as const
  return workspace.engine.submit({ rule: 'approval.answer', input, by: 'agent-relay', cause: id('c') })
}

test('is asked once, and what is answered in the queue is typed', async () => {
  await seen()
  for (let look = 0; look < 3; look++) await dialogs.look()
  const asked = open()[0] as ApprovalRow
  expect(asked).toMatchObject({ id: 'ap-1', agent: 'Fixer', vendor: 'codex', tool: 'shell', input: 'rm -rf dist' })
  expect(asked).toMatchObject({ directory: '/w', isExact: true })
  await answer(asked, '3')
  await until(() => keys.length > 0)
  expect(keys).toEqual(['3'])
  // It is still on the screen for a moment: that is not another question.
  await dialogs.look()
  expect(workspace.approvals.hasOpen('Fixer')).toBe(false)
})

test('an answer is not typed into another dialog, and its question is closed as taken back', async () => {
  await seen()
  const first = open()[0] as ApprovalRow
  screen = codex.replace('dist', '/')
  // As the page answers: what asks is asked first.
  const session = { standing: { isPage: true, rank: 'holder' }, shown: { tokenHashes: new Set() } }
  const asking = { session, by: 'agent-relay', id: id('c') } as never
  const { id: own, digest } = first
  const answered = workspace.approvals.answer(asking, { id: own, choice: '1', digest }, () => new Map())
  await expect(answered).rejects.toMatchObject({ refusal: { code: 'approval.closed' } })
  expect(closedAs(own)).toBe('cancelled')
  await seen()
  const second = open()[0] as ApprovalRow
  expect(second.input).toContain('rm -rf /')
  // One that changes when the answer has been taken.
  screen = codex
  await answer(second, '1')
  await until(() => !workspace.approvals.hasOpen('Fixer'))
  await register('Later')
  expect(keys).toEqual([])
})

test('one that changes is asked again, and a sign that moves changes nothing', async () => {
  const busy = `⠋ Working (3s • esc to interrupt)\n${codex}`
  screen = busy
  await seen()
  screen = busy.replace('⠋', '⠙').replace('3s', '1m 4s')
  await dialogs.look()
  await register('Ann')
  expect(open().map((each) => each.id)).toEqual(['ap-1'])
  screen = codex.replace('dist', '/')
  await dialogs.look()
  await until(() => open().length === 0)
  expect(closedAs('ap-1')).toBe('cancelled')
})

test('in a terminal of another width it is the same one', async () => {
  await seen()
  const narrow = codex
    .replace('run the following command?', 'run the\n  following command?')
    .replace('differently (esc)', '\n     differently (esc)')
  screen = narrow
  await dialogs.look()
  await register('Ann')
  expect(open().map((each) => each.id)).toEqual(['ap-1'])
  await answer(open()[0] as ApprovalRow, '1')
  await until(() => keys.length > 0)
})

test('gone from the screen: taken back, or answered by who has typed; with its program: gone', async () => {
  await seen()
  dialogs.onDialogGone()
  await until(() => open().length === 0)
  expect([closedAs('ap-1'), keys]).toEqual(['cancelled', []])
  dialogs = questions({ ...row, id: 'wk2' })
  await seen()
  dialogs.onTyped()
  dialogs.onDialogGone()
  await until(() => open().length === 0)
  expect(closedAs('ap-2')).toBe('terminal')
  dialogs = questions({ ...row, id: 'wk3' })
  await seen()
  dialogs.end()
  await until(() => open().length === 0)
  expect(closedAs('ap-3')).toBe('gone')
})

/** A program whose screen shows the dialog. */
async function blocked() {
  const size = { cols: 100, rows: 30 }
  const terminal = await openPty({ file: 'cat', args: [], cwd: '/', env: { PATH: process.env.PATH ?? '' }, ...size })
  const output = new ProgramOutput(size, () => {})
  const listener = {
    onChange: () => {},
    onExit: () => {},
    onBroken: () => {},
    onSpent: () => {},
    onConversation: () => {},
    onTrouble: () => {},
  }
  let isShown = true
  const harness = { ...plainHarness, readScreenSign: () => (isShown ? ('blocked' as const) : ('busy' as const)) }
  const show = (is: boolean) => {
    isShown = is
  }
  const control = new PtyControl(terminal, { row, approvals: workspace.approvals, harness, output, listener })
  output.push(Buffer.from(codex.replaceAll('\n', '\r\n')))
  onTestFinished(() => {
    control.end()
    process.kill(terminal.pid, 'SIGKILL')
  })
  return { control, output, show }
}

test('a program that draws its screen again after it was given another size is still asking', async () => {
  const { control, output, show } = await blocked()
  await control.look()
  control.onBlockedReported()
  await until(() => open().length === 1)
  control.resize(60, 20)
  output.resize(60, 20)
  show(false)
  expect(await control.look()).toMatchObject({ state: 'blocked' })
  show(true)
  expect(await control.look()).toMatchObject({ state: 'blocked' })
  control.onBlockedReported()
  await register('Later')
  expect(open().map((each) => each.id)).toEqual(['ap-1'])
  // Not for ever: whoever has answered it at the terminal is not waited for.
  show(false)
  await until(async () => (await control.look()).state !== 'blocked')
  await until(() => open().length === 0)
})

test('a flood of output leaves an open dialog open', async () => {
  const { control, output } = await blocked()
  expect(await control.look()).toMatchObject({ state: 'blocked', isAnswered: false })
  control.onBlockedReported()
  await until(() => open().length === 1)
  output.push(Buffer.from('\x1b[0m'.repeat(50_000)))
  expect(await control.look()).toMatchObject({ state: 'busy' })
  await register('Later')
  expect(open().map((each) => each.id)).toEqual(['ap-1'])
  expect(await control.look()).toMatchObject({ state: 'blocked' })
  control.onBlockedReported()
  await register('Later-still')
  expect(open().map((each) => each.id)).toEqual(['ap-1'])
})

test('what its CLI asks by a door of its own is not asked again', async () => {
  const asked = { source: 'door', agent: 'Fixer', vendor: 'codex', tool: 'exec', input: 'ls', choices: [] }
  const over = workspace.approvals.open(asked)
  await until(() => open().length === 1)
  await dialogs.look()
  workspace.approvals.close('door', 'cancelled')
  await over
  await dialogs.look()
  expect(workspace.approvals.hasOpen('Fixer')).toBe(false)
  // Nor is anybody told of it while the screen still shows what was answered.
  const { control } = await blocked()
  expect(await control.look()).toMatchObject({ state: 'blocked', isAnswered: true })
  await until(async () => (await control.look()).isAnswered === false)
})
