// subscribe_events: from now on the host is told of events by itself, where it can be; otherwise from where to ask for them.

import { z } from 'zod'
import { workspaceTool } from './tool.ts'

/** What concerns an agent; the rest (who came, which channel was made) is there for those who name it. */
export const eventTypesDefault = ['message.created', 'delivery.*', 'action.*', 'session.event']

export const subscribeEventsTool = workspaceTool({
  name: 'subscribe_events',
  title: 'Subscribe to events',
  description: `Have events pushed to your host, if it can take them. Default types: ${eventTypesDefault.join(', ')}. An empty list ends it.`,
  input: z.object({
    types: z.array(z.string()).max(50).optional(),
    since: z.number().int().min(0).optional().describe('A cursor; default: from now'),
  }),
  output: { pushed: z.boolean(), cursor: z.number() },
  hints: { idempotent: true },
  run: async (client, { types = eventTypesDefault, since }) => {
    const { seq } = await client.call('workspace.status', {})
    const cursor = since ?? seq
    const pushed = await client.desk.subscribe({ types, since: cursor })
    if (types.length === 0) return { text: 'No more events are pushed.', pushed: false, cursor }
    const text = pushed
      ? 'Events come as notifications/relay/event.'
      : `This host cannot be pushed to. Call list_events with since=${cursor} instead.`
    return { text, pushed, cursor }
  },
})
