// Toolset `lift`, for several sessions that share a relay (`agent-relay lift`). A caller names its role in each call; only a session that was started
// for a role may leave out `from` in post_message. Answers are JSON.

import { longBodyText, shownBodyBytesMax } from '@agent-relay/sdk/internal/long-body'
import { limits, messageKinds } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { unknownRoleError } from '../client.ts'
import { truncateWithNote } from '../text.ts'
import { bodiesBytesMax } from './relay-inbox.ts'
import { defineTool, type Tool } from './tool.ts'

type LiftToolFields = 'name' | 'title' | 'description' | 'input' | 'hints' | 'showsInbox' | 'roleInputs' | 'run'

interface LiftToolDefinition<I> extends Pick<Tool<I>, LiftToolFields> {
  role(input: I): string | undefined
}

const roleInput = z.string().min(1).describe('Your role')

function liftTool<I>(definition: LiftToolDefinition<I>): Tool {
  return defineTool({
    ...definition,
    // The caller needs no agent: its role identifies it.
    worksWithoutAgent: true,
    // The text that starts the sessions of a lift names these tools, so the model must see them from the start.
    isPinned: true,
  })
}

const postMessageTool = liftTool({
  name: 'post_message',
  title: 'Post a message',
  description:
    'Send a message to another role. It waits there until it is read. kind: status (what is done), question (needs an answer), directive (do this) or free.',
  input: z.object({
    from: roleInput.optional(),
    to: z.string().min(1).describe('The role it is for'),
    kind: z.enum(messageKinds),
    body: z.string().min(1),
  }),
  hints: {},
  role: ({ from }) => from,
  roleInputs: ['from', 'to'],
  run: async (client, { to, kind, body }) => {
    // The workspace may contain other agents, but a lift's messages go to roles only.
    if (!client.roles.includes(to)) throw unknownRoleError(to, client.roles)
    const { id } = await client.call('message.send', { to, kind, body })
    return { json: { id }, note: longBodyText(body) }
  },
})

/** Reads messages, first in, first out. They are consumed when the reader makes its next call. */
const readMessagesTool = liftTool({
  name: 'read_messages',
  title: 'Read your messages',
  description:
    'Take all messages that wait for your role, oldest first. They are consumed: a second call returns none.',
  input: z.object({ for: roleInput }),
  hints: {},
  showsInbox: true,
  role: (input) => input.for,
  roleInputs: ['for'],
  run: async (client) => {
    const page = await client.getInbox({ limit: limits.pageMessagesMax, bytesMax: bodiesBytesMax })
    const messages = page.map(({ id, from, to, kind, body, ts }) => ({
      id,
      from,
      to: String(to),
      kind,
      body: truncateWithNote(body, shownBodyBytesMax),
      ts,
    }))
    return page.more > 0 ? { json: messages, note: `${page.more} more. Call read_messages again.` } : { json: messages }
  },
})

const listPendingTool = liftTool({
  name: 'list_pending',
  title: 'See what waits',
  description: 'How many messages wait for your role and the kind of each. They stay where they are.',
  input: z.object({ for: roleInput }),
  hints: { readOnly: true, idempotent: true },
  showsInbox: true,
  role: (input) => input.for,
  roleInputs: ['for'],
  run: async (client) => {
    const { total, kinds } = await client.count()
    const each = Object.entries(kinds).flatMap(([kind, count]) => Array<string>(count).fill(kind))
    return { json: { count: total, kinds: each } }
  },
})

/** The tools in the order in which tools/list shows them. */
export const liftTools: readonly Tool[] = [postMessageTool, readMessagesTool, listPendingTool]
