// `channels`: the rooms of a workspace, and making, entering and leaving them.

import type { CallName } from '@agent-relay/sdk/protocol'
import type { Run } from '../command.ts'
import { withClient } from '../context.ts'
import { oneLine } from '../text.ts'

export const list: Run = async (invocation) => {
  const { print } = invocation
  await withClient(invocation, 'anyone', async ({ client, welcome }) => {
    const { channels } = await client.call('channel.list', {})
    if (print.isJson) return void (await print.json({ channels }))
    await print.table(
      [
        { head: 'CHANNEL' },
        { head: 'MEMBERS', toTheRight: true },
        { head: 'MESSAGES', toTheRight: true },
        { head: '' },
      ],
      channels.map(({ name, members, messages, joined }) => [
        oneLine(name),
        String(members),
        String(messages),
        joined ? `${welcome.agent} is in it` : '',
      ]),
    )
  })
}

export const create = changing('channel.create', (agent, channel) => `${channel} is there now, and ${agent} is in it.`)
export const join = changing('channel.join', (agent, channel) => `${agent} is in ${channel}, from its next message on.`)
export const leave = changing(
  'channel.leave',
  (agent, channel) => `${agent} has left ${channel}. What was unread stays in the inbox.`,
)

function changing(
  op: CallName & `channel.${'create' | 'join' | 'leave'}`,
  say: (agent: string, channel: string) => string,
): Run {
  return async (invocation) => {
    const { args, print } = invocation
    await withClient(invocation, 'agent', async ({ client, welcome }) => {
      const done = await client.call(op, { channel: args[0] as string })
      if (print.isJson) await print.json(done)
      else await print.line(say(welcome.agent as string, oneLine(done.channel)))
    })
  }
}
