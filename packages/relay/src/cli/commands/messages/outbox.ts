// `outbox`: lists messages that this machine queues while their shared workspace cannot be reached, and drops some of them.

import type { CliCommand, NamedCommand } from '../../command.ts'
import { withClient } from '../../connection.ts'
import { addressText } from '../../lines.ts'
import { ageText, countedText, oneLine } from '../../text.ts'

const list: NamedCommand = {
  name: 'list',
  text: 'your messages that wait, in the order in which they are sent',
  isDefault: true,
  examples: ['agent-relay outbox', 'agent-relay outbox --as Bob --json'],
  async run(context) {
    const { print } = context
    await withClient(context, 'agent', async ({ client }) => {
      const { queued } = await client.call('outbox.list', {})
      if (print.isJson) return void (await print.json({ queued }))
      if (queued.length === 0) return print.say('No message waits here: everything that was sent is stored.')
      await print.table(
        [{ head: 'ID' }, { head: 'SINCE' }, { head: 'FROM' }, { head: 'TO' }, { head: 'MESSAGE', mayShrink: true }],
        queued.map(({ id, since, from, to, preview }) =>
          [id, ageText(since), from, addressText(to), preview].map(oneLine),
        ),
      )
      const are = queued.length === 1 ? 'waits' : 'wait'
      print.say(
        `${countedText(queued.length, 'message')} ${are} until the shared workspace is reached. To drop one: agent-relay outbox drop ID`,
      )
    })
  },
}

const drop: NamedCommand = {
  name: 'drop',
  args: '<id...>',
  text: 'take messages out: they are not sent',
  examples: ['agent-relay outbox drop q_01k9…', 'agent-relay outbox drop q_01k9… q_01ka… --as Bob'],
  async run(context) {
    const { args, print } = context
    await withClient(context, 'agent', async ({ client }) => {
      for (const id of args) await client.call('outbox.drop', { id })
      if (print.isJson) return void (await print.json({ dropped: args }))
      for (const id of args) await print.line(`Dropped, not sent: ${oneLine(id)}`)
    })
  },
}

export const outbox: CliCommand = {
  examples: ['agent-relay outbox', 'agent-relay outbox drop q_01k9…'],
  commands: [list, drop],
}
