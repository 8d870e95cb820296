// The example of the founding document, step by step: two MCP clients of the official SDK and one program, on the pipe and on /mcp in both eras.

import { ActionError } from '@agent-relay/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { until } from '../../../test/until.ts'
import { ActionsWorld, type McpAgent, type Wire } from '../../relay/tests/broker/actions-world.ts'

let world: ActionsWorld
const votes: unknown[] = []

beforeAll(async () => {
  world = await ActionsWorld.start()
  const { actions } = await world.program('review-board')
  await actions.register({
    name: 'review.submit_vote',
    description: 'Submit a review vote for the current proposal.',
    inputSchema: z.object({
      proposalId: z.string(),
      vote: z.enum(['approve', 'request_changes', 'abstain']),
      reason: z.string().optional(),
    }),
    outputSchema: z.object({ recorded: z.boolean() }),
    handler: (input, { caller, invocationId }) => {
      if (input.proposalId === 'closed')
        throw new ActionError('permission_denied', `${caller.name} cannot vote on this proposal.`)
      votes.push({ ...input, caller, invocationId })
      return { recorded: true }
    },
  })
})
afterAll(() => world.stop())

const casts: [planner: Wire, reviewer: Wire][] = [
  ['pipe', 'pipe'],
  ['2025', '2025'],
  ['2026', '2026'],
  ['pipe', '2025'],
  ['pipe', '2026'],
]

describe.each(casts)('planner on %s, reviewer on %s', (plannerWire, reviewerWire) => {
  const suffix = `${plannerWire}-${reviewerWire}`
  const names = { planner: `Planner-${suffix}`, reviewer: `Reviewer-${suffix}` }
  const room = `#planning-${suffix}`
  let planner: McpAgent
  let reviewer: McpAgent
  let announced: string
  let answered: string

  test('register', async () => {
    planner = await world.agent(plannerWire)
    reviewer = await world.agent(reviewerWire)
    const handle = `planner-of-${suffix}`
    const registered = await planner.register(names.planner, { handle })
    expect(registered).toMatchObject({ ok: true, agent: names.planner, id: expect.any(String) })
    expect(await reviewer.register(names.reviewer, { channels: [room] })).toMatchObject({ ok: true })
    // Only where no session remembers who calls is there a token in the answer.
    expect('agent_token' in registered).toBe(plannerWire === '2026')
    const { data } = await reviewer.call('list_agents')
    if (plannerWire !== '2026')
      expect(data.agents).toContainEqual(expect.objectContaining({ name: names.planner, handle, status: 'active' }))
  })

  test('join, announce, and the event or the inbox tells', async () => {
    expect((await planner.call('join_channel', { channel: room })).data).toEqual({ ok: true, channel: room })
    const { data: subscribed, text } = await reviewer.call('subscribe_events')
    expect(subscribed).toMatchObject({ ok: true, pushed: reviewerWire !== '2026' })
    const sent = await planner.call('send_message', { channel: room, text: 'ready for work', kind: 'status' })
    expect(sent.data).toMatchObject({ ok: true, to: room, away: [] })
    announced = sent.data.id
    if (reviewerWire === '2026') {
      expect(text).toContain(`list_events with since=${subscribed.cursor}`)
      const { data } = await reviewer.call('list_events', { since: subscribed.cursor, types: ['message.created'] })
      expect(data.events[0].message).toMatchObject({ id: announced, body: 'ready for work' })
    } else {
      await until(() => reviewer.events('message.created').length > 0)
      expect(reviewer.events('message.created')[0]?.message).toMatchObject({ id: announced, from: names.planner })
    }
    const { data, text: inbox } = await reviewer.call('list_inbox')
    expect(data).toMatchObject({ ok: true, more: 0, messages: [{ id: announced, channel: room, kind: 'status' }] })
    expect(inbox).toContain('ready for work')
  })

  test('the generated tool', async () => {
    const listed = (await planner.tools()).find(({ name }) => name === 'review_submit_vote')
    expect(listed).toMatchObject({
      title: 'review.submit_vote',
      description: 'Submit a review vote for the current proposal.',
      inputSchema: { type: 'object', required: ['proposalId', 'vote'] },
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    })
    expect(JSON.stringify(listed)).not.toContain('$schema')
    const { data, text } = await planner.call('review_submit_vote', { proposalId: 'p1', vote: 'approve' })
    expect(data).toEqual({
      ok: true,
      action: 'review.submit_vote',
      invocationId: expect.stringMatching(/^act_/),
      output: { recorded: true },
    })
    expect(JSON.parse(text)).toEqual(data)
    expect(votes.at(-1)).toMatchObject({
      proposalId: 'p1',
      caller: { type: 'agent', name: names.planner, handle: `planner-of-${suffix}` },
    })
    const denied = await planner.call('review.submit_vote', { proposalId: 'closed', vote: 'abstain' })
    expect(denied.isError).toBe(true)
    expect(denied.data).toMatchObject({
      ok: false,
      action: 'review.submit_vote',
      error: { code: 'permission_denied', message: `${names.planner} cannot vote on this proposal.` },
    })
    const generic = await reviewer.call('actions.invoke', { name: 'review.submit_vote', input: { proposalId: 'p2' } })
    expect(generic.data).toMatchObject({ ok: false, error: { code: 'invalid_input' } })
  })

  test('reply, react, mark read', async () => {
    const replied = await reviewer.call('reply', { message: announced, text: 'take issue 12' })
    expect(replied.data).toMatchObject({ ok: true, to: room })
    answered = replied.data.id
    expect((await reviewer.call('react', { message: announced, emoji: '👍' })).data).toEqual({
      ok: true,
      message: announced,
    })
    const { data } = await planner.call('flush_deliveries')
    expect(data.messages).toMatchObject([{ id: answered, thread: announced, body: 'take issue 12' }])
    expect((await planner.call('mark_read', { message: answered })).data).toEqual({ ok: true, read: 0 })
    expect((await planner.call('list_inbox')).data).toMatchObject({ ok: true, messages: [] })
    // A direct answer goes to its writer alone.
    const direct = await planner.call('send_message', { to: names.reviewer, text: 'thanks, on it' })
    expect(direct.data).toMatchObject({ to: names.reviewer })
    expect((await reviewer.call('mark_read', { message: direct.data.id })).data).toEqual({ ok: true, read: 1 })
    expect((await reviewer.call('reply', { message: direct.data.id, text: 'good' })).data.to).toBe(names.planner)
  })
})
