// The conversation of the demo: three scripted agents, written with the SDK as any program would be. The page starts it (demo-stage.ts), and so does the
// command (cli/commands/demo).

import { setTimeout as sleep } from 'node:timers/promises'
import { connectRelay, type Relay } from '@agent-relay/sdk'
import { z } from 'zod'

/** The names of the three agents, and the channel where they meet. */
export interface DemoCast {
  lead: string
  tester: string
  reviewer: string
  channel: string
}

interface ScriptOptions {
  socketPath: string
  cast: DemoCast
  /** The pause between two scenes, so that a person can follow. */
  paceMs: number
  /** Ends the demo between two scenes. */
  signal: AbortSignal
}

const report = Array.from({ length: 42 }, (_, at) => `ok ${at + 1} - parser case ${at + 1}`).join('\n')

/** Plays the demo. Resolves with the number of its last entry in the journal. */
export async function runDemoScript({ socketPath, cast, paceMs, signal }: ScriptOptions): Promise<number> {
  const pause = () => sleep(paceMs, undefined, { signal })
  const enter = (name: string) => connectRelay({ socketPath, name, strictName: true })
  const agents: Relay[] = []
  try {
    for (const name of [cast.lead, cast.tester, cast.reviewer]) agents.push(await enter(name))
    const [lead, tester, reviewer] = agents as [Relay, Relay, Relay]
    await playMeeting(lead, [tester, reviewer], cast)
    await pause()
    await playQuestion(lead, tester, cast)
    await pause()
    await playVote(lead, reviewer)
    await pause()
    await playTestRun(lead, tester, cast)
    await pause()
    return (await lead.messages.send(`#${cast.channel}`, 'Tested and approved: 1.4 is out.', { kind: 'status' })).seq
  } finally {
    await Promise.all(agents.map((agent) => agent.close()))
  }
}

async function playMeeting(lead: Relay, others: Relay[], { channel }: DemoCast): Promise<void> {
  // An earlier demo may have created the channel in this workspace.
  await lead.channels.create(channel).catch(() => lead.channels.join(channel))
  await Promise.all(others.map((agent) => agent.channels.join(channel)))
  await lead.messages.send(`#${channel}`, 'Ship 1.4 today?')
}

/** Shows a question that waits in the daemon, at no cost to the agent that asks. */
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

/** Shows a contract whose payload is handed over outside the conversation, so that no agent has to read it to pass it on. */
async function playTestRun(lead: Relay, tester: Relay, cast: DemoCast): Promise<void> {
  const contract = 'Run the tests of release/1.4 and hand over the report.'
  const { id } = await lead.client.call('run.start', { contract, harness: 'external', agent: cast.tester })
  await tester.client.call('run.complete', { run: id, summary: '42 tests passed', payload: report })
}
