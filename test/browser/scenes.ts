// A workspace with a bit of everything in it, and scenes for looking at the page: a name, an address, and the text that must be seen there.

import { z } from 'zod'
import type { Harness } from '../../packages/relay/src/supervisor/harness/harness.ts'
import { plainHarness } from '../../packages/relay/src/supervisor/harness/plain.ts'
import type { Relay } from '../../packages/sdk/src/index.ts'
import type { PageWorld } from './page-world.ts'

export const scenes: [name: string, hash: string, ready: string][] = [
  ['now', '#/now', '.agent-row'],
  ['talk', '#/talk/%23build', '.message'],
  ['thread', '#/talk/%40Alice%2CTestRunner?thread=task-123', '.thread .message'],
  ['agent', '#/agent/Alice', '.letter'],
  ['terminal', '#/agent/Builder/terminal', '.xterm-rows'],
  ['spawn', '#/agent?spawn=1', '.form'],
  ['agents', '#/agent', '.pick'],
  ['runs', '#/runs/RUN', '.facts'],
  ['start-run', '#/runs?start=1', '.form'],
  ['all actions', '#/actions', '.pick'],
  ['actions', '#/actions/review.submit_vote', '.form'],
  ['recorder', '#/recorder', '.event[aria-current]'],
  ['everywhere', '#/everywhere', '.everywhere .need-question'],
]

/** A CLI that says in its title when it has a dialog open. */
const asking: Harness = {
  ...plainHarness,
  name: 'asking',
  readScreenSign: ({ title }) => (title === 'dialog' ? 'blocked' : undefined),
}
export const harnesses = [plainHarness, asking]
export const dialog = `
process.stdout.write('\\x1b]0;dialog\\x07May I? Press y.')
process.stdin.setRawMode(true).on('data', () => process.stdout.write('\\x1b]0;done\\x07'))`

/** A build of some lines with colours, as a CLI prints it. */
const building = `
const c = (n, t) => '\\x1b[' + n + 'm' + t + '\\x1b[0m'
console.log(c(1, 'builder 1.4.0') + '  watching packages/parser')
console.log(c(90, '14:40:02') + '  lexer.ts      ' + c(32, 'ok') + '   12 ms')
console.log(c(90, '14:40:02') + '  parser.ts     ' + c(32, 'ok') + '   31 ms')
console.log(c(90, '14:40:03') + '  errors.ts     ' + c(33, 'warn') + ' unused name: where')
console.log(c(90, '14:40:04') + '  ' + c('38;2;220;60;60', '1 of 42 tests failed') + ': nested quotes')
console.log(''); console.log(c(36, '> ') + 'Fix it? (y/n)')
setInterval(() => {}, 1000)`

/** As agents write to each other. */
const report = `### Slower than before

Two of 42 are slower than before, see [the run](https://ci.example.com/runs/991):

| test | before | now |
|:-----|-------:|----:|
| nested quotes | 12 ms | 31 ms |
| late newline | 8 ms | 9 ms |

- [x] changelog names \`--strict\`
- [ ] tag \`v1.4.0\`

\`\`\`ts
export const isStrict = (flags: ReadonlySet<string>): boolean => flags.has('strict') || flags.has('all')
\`\`\``

async function speak(world: PageWorld, alice: Relay, bob: Relay, tests: Relay, reviewer: Relay): Promise<void> {
  const asked = await alice.messages.send(
    '#build',
    'Ship 1.4 today?\nThe changelog is ready; the flaky parser test is the last thing.',
    { kind: 'question' },
  )
  const told = await bob.messages.send('#build', 'Parser is green on my side. 42 tests, ten runs, no failure.', {
    kind: 'status',
  })
  await reviewer.messages.send('#build', 'I vote for it, once the changelog names the new flag.', { replyTo: told.id })
  await alice.messages.send('#build', report)
  await alice.messages.send('#build', 'Named it. **Bob**, please tag.', { kind: 'directive' })
  await reviewer.client.call('message.react', { message: asked.id, emoji: '+1' })
  await bob.client.call('message.react', { message: asked.id, emoji: '+1' })
  await alice.messages.send('TestRunner', 'Run the parser tests ten times, please.', { thread: 'task-123' })
  await tests.messages.send('Alice', 'Ten of ten passed in 41 s.', { thread: 'task-123', kind: 'status' })
  await bob.client.call('inbox.take', {})
  await bob.client.call('inbox.count', {})
  await bob.messages.send(world.me, 'May I delete the old migration? Nothing refers to it any more.', {
    kind: 'question',
  })
  await reviewer.messages.send('*', 'Back from the rebase; main is clean.')
}

/** Brings agents, messages, a worker, a run and actions, and fills the run's name into its scene. */
export async function furnish(world: PageWorld): Promise<void> {
  await world.http.daemon.open('shop')
  const alice = await world.agent('Alice', { cli: 'claude', model: 'opus', channels: ['#build'] })
  const bob = await world.agent('Bob', { cli: 'codex', model: 'gpt-5', channels: ['#build'] })
  const tests = await world.agent('TestRunner', { cli: 'claude', model: 'haiku', parent: 'Alice' })
  const reviewer = await world.agent('Reviewer', { cli: 'gemini', parent: 'Alice', channels: ['#build'] })
  await reviewer.actions.register({
    name: 'review.submit_vote',
    description: 'Records a vote on a change.',
    inputSchema: z.object({
      change: z.number().int().describe('Number of the change'),
      vote: z.enum(['up', 'down']),
      comment: z.string().optional(),
    }),
    handler: () => ({ recorded: true }),
  })
  await tests.actions.register({
    name: 'tests.run',
    description: 'Runs the tests of a folder and answers the counts.',
    inputSchema: z.object({ folder: z.string() }),
    handler: () => ({ passed: 42, failed: 0 }),
  })
  await speak(world, alice, bob, tests, reviewer)
  await alice.actions.invoke('tests.run', { folder: 'packages/parser' })
  await bob.actions.invoke('review.submit_vote', { change: 12, vote: 'up' })
  const run = await alice.client.call('run.start', {
    contract: 'List the flaky tests of the last week, with how often each failed.',
    harness: 'external',
    agent: 'TestRunner',
  })
  const payload = JSON.stringify({
    flaky: [
      { test: 'nested quotes', failed: 3 },
      { test: 'late newline', failed: 1 },
    ],
  })
  await tests.client.call('run.complete', {
    run: run.id,
    summary: 'Two are flaky; nested quotes is the worse one.',
    payload,
  })
  const scene = scenes.find(([name]) => name === 'runs')
  if (scene) scene[1] = `#/runs/${run.id}`
  await alice.client.call('worker.spawn', {
    name: 'Builder',
    cli: 'plain',
    cwd: '/',
    command: [process.execPath, '-e', building],
  })
  await bob.client.call('worker.spawn', {
    name: 'Migrator',
    cli: 'asking',
    cwd: '/',
    command: [process.execPath, '-e', dialog],
  })
  await world.page.locator('.need', { hasText: 'Migrator' }).waitFor()
  reviewer.client
    .call('approval.ask', {
      ...{
        key: 'push',
        vendor: 'gemini',
        tool: 'Bash',
        input: 'git push origin v1.4.0',
        directory: '/home/kim/parser',
      },
      choices: [
        { id: 'once', kind: 'allow' },
        { id: 'session', kind: 'always', label: 'Always allow git push' },
        { id: 'no', kind: 'deny' },
      ],
    })
    .catch(() => {})
  await world.page.locator('.need', { hasText: 'Reviewer' }).waitFor()
  bob.client
    .sendAndWait('Alice', 'Which branch do I take for B1?', { kind: 'question', timeoutMs: 600_000 })
    .catch(() => {})
  tests.client.sendAndWait('Bob', 'Is the fixture yours?', { kind: 'question', timeoutMs: 600_000 }).catch(() => {})
  await world.page.getByText(/waiting for Alice/).waitFor()
}
