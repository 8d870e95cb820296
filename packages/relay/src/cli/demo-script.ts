// The conversation of `demo`: three scripted agents, written with the SDK as any program would be. Showing it is commands/demo.ts's affair.

import { setTimeout as sleep } from 'node:timers/promises'
import { connectRelay, type Relay } from '@agent-relay/sdk'
import { z } from 'zod'

export interface Stage {
  socketPath: string
  /** Between two scenes, so that a person can follow. */
  paceMs: number
  /** Ends it between two scenes. */
  signal: AbortSignal
}

const report = Array.from({ length: 42 }, (_, at) => `ok ${at + 1} - parser case ${at + 1}`).join('\n')

/** Resolves with the number of its last entry in the journal. */
export async function play({ socketPath, paceMs, signal }: Stage): Promise<number> {
  const pause = () => sleep(paceMs, undefined, { signal })
  const enter = (name: string) => connectRelay({ socketPath, name, strict: true })
  const [lead, tester, reviewer] = await Promise.all([enter('lead'), enter('tester'), enter('reviewer')])
  try {
    await meet(lead, [tester, reviewer])
    await pause()
    await ask(lead, tester)
    await pause()
    await vote(lead, reviewer)
    await pause()
    await test(lead, tester)
    await pause()
    return (await lead.messages.send('#build', 'Tested and approved: 1.4 is out.', { kind: 'status' })).seq
  } finally {
    await Promise.all([lead, tester, reviewer].map((agent) => agent.close()))
  }
}

async function meet(lead: Relay, others: Relay[]): Promise<void> {
  await lead.channels.create('build')
  await Promise.all(others.map((agent) => agent.channels.join('build')))
  await lead.messages.send('#build', 'Ship 1.4 today?')
}

/** The one who asks waits in the daemon for the answer, and burns nothing meanwhile. */
async function ask(lead: Relay, tester: Relay): Promise<void> {
  const answered = answerFirst(tester, 'release/1.4, and all of it is green.')
  await lead.messages.ask('tester', 'Which branch did you test?', { kind: 'question', timeoutMs: 5_000 })
  await answered
}

async function answerFirst(agent: Relay, answer: string): Promise<void> {
  for await (const message of agent.inbox) {
    if (message.kind !== 'question') continue
    await agent.messages.reply(message, answer)
    await agent.inbox.markRead(message)
    return
  }
}

/** What a program offers, agents call as a tool of its own: here `review_submit_vote`. */
async function vote(lead: Relay, reviewer: Relay): Promise<void> {
  await lead.actions.register({
    name: 'review.submit_vote',
    description: 'Vote on a release.',
    inputSchema: z.object({ release: z.string(), vote: z.enum(['approve', 'request_changes']) }),
    outputSchema: z.object({ recorded: z.boolean() }),
    handler: () => ({ recorded: true }),
  })
  await reviewer.actions.invoke('review.submit_vote', { release: '1.4', vote: 'approve' })
}

/** A contract, and the result handed over apart from the conversation, so that no agent has to read it to pass it on. */
async function test(lead: Relay, tester: Relay): Promise<void> {
  const contract = 'Run the tests of release/1.4 and hand over the report.'
  const { id } = await lead.client.call('run.start', { contract, harness: 'external', agent: 'tester' })
  await tester.client.call('run.complete', { run: id, summary: '42 tests passed', payload: report })
}
