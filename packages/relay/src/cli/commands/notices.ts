// `notices`: asks the daemon to tell you once that an agent is idle, has ended or has answered; lists such requests, and drops them.

import { noticeText, occasionTexts } from '@agent-relay/sdk/internal/notice-text'
import { noticeOccasions } from '@agent-relay/sdk/protocol'
import type { CliCommand, CliOptions, CommandContext, NamedCommand } from '../command.ts'
import { withClient } from '../connection.ts'
import { ageText, countedText, oneLine } from '../text.ts'

const list: NamedCommand = {
  name: 'list',
  text: 'the notices that you have asked for and not got yet',
  isDefault: true,
  examples: ['agent-relay notices', 'agent-relay notices --json'],
  run: runList,
}

async function runList(context: CommandContext): Promise<void> {
  const { print } = context
  await withClient(context, 'agent', async ({ client }) => {
    const { notices } = await client.call('notice.list', {})
    if (print.isJson) return void (await print.json({ notices }))
    if (notices.length === 0) return print.say('You wait for no notice. To ask for one: agent-relay notices ask NAME')
    await print.table(
      [{ head: 'AGENT' }, { head: 'WHEN' }, { head: 'MESSAGE' }, { head: 'ASKED' }],
      notices.map(({ agent, when, message = '', since }) =>
        [agent, occasionTexts[when], message, ageText(since)].map(oneLine),
      ),
    )
  })
}

const askOptions = {
  when: {
    flags: '--when <what>',
    text: 'when it is idle, has ended, or has answered you (idle)',
    choices: [...noticeOccasions],
  },
  message: { flags: '--message <id>', text: 'idle: after it was shown this message; answered: by an answer to it' },
} satisfies CliOptions

const ask: NamedCommand<typeof askOptions> = {
  name: 'ask',
  args: '<agent>',
  argumentKind: 'agents',
  text: 'ask for one message when an agent is idle, has ended or has answered you; if it is so already, that is printed instead',
  options: askOptions,
  examples: [
    'agent-relay notices ask Bob',
    'agent-relay notices ask Bob --when ended',
    'agent-relay notices ask Bob --when answered --message m_01k9',
  ],
  async run(context) {
    const { args, options, print } = context
    const [agent = ''] = args
    const { when = 'idle', message } = options
    await withClient(context, 'agent', async ({ client }) => {
      const { already } = await client.call('notice.ask', { agent, when, message })
      if (print.isJson) return void (await print.json({ agent, when, message, already }))
      await print.line(oneLine(noticeText(agent, when, already)))
    })
  },
}

const dropOptions = {
  when: { flags: '--when <what>', text: 'only the notice for this event', choices: [...noticeOccasions] },
} satisfies CliOptions

const drop: NamedCommand<typeof dropOptions> = {
  name: 'drop',
  args: '<agent>',
  argumentKind: 'agents',
  text: 'drop notices about an agent',
  options: dropOptions,
  examples: ['agent-relay notices drop Bob', 'agent-relay notices drop Bob --when ended'],
  async run(context) {
    const { args, options, print } = context
    const [agent = ''] = args
    await withClient(context, 'agent', async ({ client }) => {
      const { dropped } = await client.call('notice.drop', { agent, when: options.when })
      if (print.isJson) return void (await print.json({ agent, dropped }))
      await print.line(`Dropped: ${countedText(dropped, 'notice')} of ${oneLine(agent)}.`)
    })
  },
}

export const notices: CliCommand = {
  examples: ['agent-relay notices', 'agent-relay notices ask Bob --when ended', 'agent-relay notices drop Bob'],
  commands: [list, ask, drop],
}
