// `agents …`: what the holder of the workspace key may do about agents. Seeing them is who.ts's affair.

import type { Run } from '../command.ts'
import { withClient } from '../context.ts'
import { oneLine } from '../text.ts'

export const revoke: Run = async (invocation) => {
  const { args, print } = invocation
  await withClient(invocation, 'anyone', async ({ client }) => {
    const done = await client.call('agent.revoke', { name: args[0] as string })
    if (print.isJson) return void (await print.json(done))
    await print.line(`The tokens of ${oneLine(done.agent)} are invalid now, and what was connected with one has ended.`)
  })
}
