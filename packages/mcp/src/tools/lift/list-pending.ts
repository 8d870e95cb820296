// list_pending: how much waits for a role, and of which kinds. Nothing is consumed.

import { z } from 'zod'
import { liftTool, roleInput } from './tool.ts'

export const listPendingTool = liftTool({
  name: 'list_pending',
  title: 'See what waits',
  description: 'How many messages wait for your role and the kind of each. They stay where they are.',
  input: z.object({ for: roleInput }),
  output: z.object({ count: z.number(), kinds: z.array(z.string()) }),
  hints: { readOnly: true, idempotent: true },
  showsInbox: true,
  role: (input) => input.for,
  run: async (client) => {
    const { total, kinds } = await client.count()
    return { count: total, kinds: Object.entries(kinds).flatMap(([kind, count]) => Array<string>(count).fill(kind)) }
  },
})
