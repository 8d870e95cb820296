// `channels`: lists the channels of a workspace, and creates, joins, leaves and removes them.

import type { CliCommand, CommandContext, NamedCommand } from '../command.ts'
import { withClient } from '../connection.ts'
import { oneLine } from '../text.ts'

const list: NamedCommand = {
  name: 'list',
  text: 'all channels',
  isDefault: true,
  examples: ['agent-relay channels'],
  run: runList,
}

async function runList(context: CommandContext): Promise<void> {
  const { print } = context
  await withClient(context, 'anyone', async ({ client, welcome }) => {
    const { channels } = await client.call('channel.list', {})
    if (print.isJson) return void (await print.json({ channels }))
    await print.table(
      [
        { head: 'CHANNEL' },
        { head: 'MEMBERS', alignsRight: true },
        { head: 'MESSAGES', alignsRight: true },
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

const create = channelCommand(
  'create',
  'make a channel and enter it',
  (agent, channel) => `${channel} is created, and ${agent} is in it.`,
)
const join = channelCommand(
  'join',
  'enter a channel',
  (agent, channel) => `${agent} has joined ${channel} and gets its messages from now on.`,
)
const leave = channelCommand(
  'leave',
  'leave a channel',
  (agent, channel) => `${agent} has left ${channel}. Unread messages stay in the inbox.`,
)
const remove = channelCommand(
  'remove',
  'remove a channel that you made, while nobody else has joined it and nothing was said in it',
  (_, channel) => `${channel} is removed.`,
)

export const channels: CliCommand = {
  examples: ['agent-relay channels', 'agent-relay channels create build'],
  commands: [list, create, join, leave, remove],
}

function channelCommand(
  verb: 'create' | 'join' | 'leave' | 'remove',
  text: string,
  say: (agent: string, channel: string) => string,
): NamedCommand {
  const run = async (context: CommandContext) => {
    const { args, print } = context
    await withClient(context, 'agent', async ({ client, welcome }) => {
      const done = await client.call(`channel.${verb}`, { channel: args[0] as string })
      if (print.isJson) await print.json(done)
      else await print.line(say(welcome.agent as string, oneLine(done.channel)))
    })
  }
  const argumentKind = verb === 'create' ? undefined : 'channels'
  return {
    name: verb,
    args: '<name>',
    argumentKind,
    text,
    examples: [`agent-relay channels ${verb} build --as Alice`],
    run,
  }
}
