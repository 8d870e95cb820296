// post_message: puts a message into the inbox of another role.

import { messageKinds } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { unknownRole } from '../../client.ts'
import { liftTool, roleInput } from './tool.ts'

export const postMessageTool = liftTool({
  name: 'post_message',
  title: 'Post a message',
  description:
    'Send a message to another role. It waits there until it is read. kind: status (what is done), question (needs an answer), directive (do this) or free.',
  input: z.object({
    from: roleInput,
    to: z.string().min(1).describe('The role it is for'),
    kind: z.enum(messageKinds),
    body: z.string().min(1),
  }),
  output: z.object({ id: z.string() }),
  hints: {},
  role: ({ from }) => from,
  run: async (client, { to, kind, body }) => {
    // The workspace may hold other agents; the lift's own are its roles.
    if (!client.roles.includes(to)) throw unknownRole(to, client.roles)
    const { id } = await client.call('message.send', { to, kind, body })
    return { id }
  },
})
