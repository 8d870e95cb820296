// The demo's script: three agents who talk to each other, written with the SDK like any other program. The page starts it (demo-stage.ts), and so does the
// command (cli/commands/demo).

import { homedir } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectRelay, type Relay, RelayError } from '@agent-relay/sdk'
import { z } from 'zod'

/** The names of the demo's three agents, of its worker, and of their channel. */
export interface DemoCast {
  lead: string
  tester: string
  reviewer: string
  builder: string
  channel: string
}

interface ScriptOptions {
  socketPath: string
  cast: DemoCast
  /** The pause between two scenes in ms, so that a person can follow. */
  paceMs: number
  /** The time in ms in which a person may answer the approval. */
  answerMs: number
  /** Ends the demo before its next scene. */
  signal: AbortSignal
}

const report = Array.from({ length: 42 }, (_, at) => `ok ${at + 1} - parser case ${at + 1}`).join('\n')

/** Plays the demo. Resolves to the number of its last journal entry. */
export async function runDemoScript(options: ScriptOptions): Promise<number> {
  const { socketPath, cast, paceMs, signal } = options
  const pause = () => sleep(paceMs, undefined, { signal })
  const enter = (name: string) => connectRelay({ socketPath, name, strictName: true })
  const agents: Relay[] = []
  let releaseBuilder: () => Promise<unknown> = async () => {}
  try {
    for (const name of [cast.lead, cast.tester, cast.reviewer]) agents.push(await enter(name))
    const [lead, tester, reviewer] = agents as [Relay, Relay, Relay]
    await playMeeting(lead, [tester, reviewer], cast)
    releaseBuilder = await playBuild(lead, options)
    await pause()
    await playQuestion(lead, tester, cast)
    await pause()
    await playVote(lead, reviewer)
    await pause()
    await playTestRun(lead, tester, cast)
    const end = await playRelease(lead, options)
    signal.throwIfAborted()
    return (await lead.messages.send(`#${cast.channel}`, end, { kind: 'status' })).seq
  } finally {
    await releaseBuilder()
    await Promise.all(agents.map((agent) => agent.close()))
  }
}

async function playMeeting(lead: Relay, others: Relay[], { channel }: DemoCast): Promise<void> {
  // An earlier demo may have created the channel in this workspace.
  await lead.channels.create(channel).catch(() => lead.channels.join(channel))
  await Promise.all(others.map((agent) => agent.channels.join(channel)))
  await lead.messages.send(`#${channel}`, 'Ship 1.4 today?')
}

/** Shows a question: the daemon waits for the answer, which costs the asking agent nothing. */
async function playQuestion(lead: Relay, tester: Relay, cast: DemoCast): Promise<void> {
  const answered = answerFirstQuestion(tester, 'release/1.4, and all of it is green.')
  await lead.messages.ask(cast.tester, 'Which branch did you test?', { kind: 'question', timeoutMs: 5_000 })
  await answered
}

async function answerFirstQuestion(agent: Relay, answer: string): Promise<void> {
  for await (const message of agent.inbox) {
    if (message.kind !== 'question') continue
    await agent.messages.reply(message, answer)
    await agent.inbox.markRead(message)
    return
  }
}

/** Shows an action, which agents call as a tool: here `review_submit_vote`. */
async function playVote(lead: Relay, reviewer: Relay): Promise<void> {
  await lead.actions.register({
    name: 'review.submit_vote',
    description: 'Vote on a release.',
    inputSchema: z.object({ release: z.string(), vote: z.enum(['approve', 'request_changes']) }),
    outputSchema: z.object({ recorded: z.boolean() }),
    handler: () => ({ recorded: true }),
  })
  await reviewer.actions.invoke('review.submit_vote', { release: '1.4', vote: 'approve' })
}

/** Shows a run: the tester hands over its report as the run's payload, so that no other agent has to read it. */
async function playTestRun(lead: Relay, tester: Relay, cast: DemoCast): Promise<void> {
  const contract = 'Run the tests of release/1.4 and hand over the report.'
  const { id } = await lead.client.call('run.start', { contract, harness: 'external', agent: cast.tester })
  await tester.client.call('run.complete', { run: id, summary: '42 tests passed', payload: report })
}

/** Number of the worker's steps per time limit of the approval. The worker has six steps, so they take a third of that time, in which a person may watch it. */
const watchedSteps = 18
/** If the demo is interrupted, its worker ends by itself after this time, in ms. */
const leftAloneMs = 120_000

/** Returns the source of the worker's program: it prints a line for each part that it builds, and then waits for its release. */
const buildProgram = (stepMs: number) => `
const parts = ['lexer', 'parser', 'printer', 'page', 'command line', 'archive']
let at = 0
const step = () => {
  if (at === parts.length) return console.log('\\x1b[32mBuilt 1.4 in ' + parts.length + ' steps.\\x1b[0m')
  console.log('\\x1b[36m[' + (at + 1) + '/' + parts.length + ']\\x1b[0m ' + parts[at++])
  setTimeout(step, ${stepMs})
}
step()
setTimeout(() => {}, ${leftAloneMs})`

/** Refusals after which the demo continues without a worker: the relay starts none, or the worker of an interrupted demo still runs. */
const withoutWorker = ['worker.unavailable', 'worker.exists']

/** Shows a worker: a program in a terminal of its own, which a person can watch. Returns a function that releases it. */
async function playBuild(lead: Relay, { cast, answerMs }: ScriptOptions): Promise<() => Promise<unknown>> {
  const name = cast.builder
  const command = [process.execPath, '-e', buildProgram(answerMs / watchedSteps)]
  try {
    await lead.client.call('worker.spawn', { name, cli: 'plain', command, cwd: homedir() })
  } catch (error) {
    if (error instanceof RelayError && withoutWorker.includes(error.code ?? '')) return async () => {}
    throw error
  }
  // The person may have released the worker already.
  return () => lead.client.call('worker.release', { name }).catch(() => {})
}

/** Shows an approval: the lead continues when a person has answered or the time is over. Returns what the lead says then. */
async function playRelease(lead: Relay, { answerMs, signal }: ScriptOptions): Promise<string> {
  const key = 'release'
  const asked = lead.client.call('approval.ask', {
    ...{ key, vendor: 'demo', tool: 'Bash', input: 'git push origin v1.4' },
    choices: [
      { id: 'yes', kind: 'allow' },
      { id: 'no', kind: 'deny' },
    ],
  })
  const giveUp = () => void lead.client.call('approval.settle', { key, how: 'timeout' }).catch(() => {})
  const timer = setTimeout(giveUp, answerMs)
  signal.addEventListener('abort', giveUp, { once: true })
  const { kind } = await asked.finally(() => {
    clearTimeout(timer)
    signal.removeEventListener('abort', giveUp)
  })
  if (kind === undefined) return 'Tested. Nobody has said yes or no yet: 1.4 waits.'
  return kind === 'deny' ? 'Not approved: 1.4 stays here.' : 'Tested and approved: 1.4 is out.'
}
