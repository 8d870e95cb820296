// `actions`: lists the actions that programs offer to agents, and invokes one by hand.

import type { ActionEnvelope } from '@agent-relay/sdk/protocol'
import { limits } from '@agent-relay/sdk/wire'
import {
  type CliCommand,
  type CliOptions,
  type CommandContext,
  CommandError,
  exitCodes,
  type NamedCommand,
} from '../command.ts'
import { withClient } from '../connection.ts'
import { readFileOrStdin } from '../stdin.ts'
import { oneLine } from '../text.ts'

const list: NamedCommand = {
  name: 'list',
  text: 'the actions that programs offer now',
  isDefault: true,
  examples: ['agent-relay actions', 'agent-relay actions list --json'],
  run: runList,
}

async function runList(context: CommandContext): Promise<void> {
  const { print } = context
  await withClient(context, 'agent', async ({ client }) => {
    const { actions } = await client.call('action.list', {})
    if (print.isJson) return void (await print.json({ actions }))
    if (actions.length === 0) return print.say('No program offers an action now.')
    await print.table(
      [{ head: 'ACTION' }, { head: 'BY' }, { head: 'WHAT IT DOES', mayShrink: true }],
      actions.map(({ name, provider, description }) => [name, provider, description].map(oneLine)),
    )
  })
}

const invokeOptions = {
  timeout: { flags: '--timeout <ms>', text: 'wait at most this long', number: [1, limits.waitMsMax] },
} satisfies CliOptions

const invoke: NamedCommand<typeof invokeOptions> = {
  name: 'invoke',
  args: '<name> [input]',
  argumentKind: 'actions',
  text: 'call one; the input is JSON, - reads it from stdin',
  options: invokeOptions,
  examples: [`agent-relay actions invoke review.submit_vote '{"proposalId": "7", "vote": "approve"}'`],
  run: runInvoke,
}

export const actions: CliCommand = { examples: ['agent-relay actions'], commands: [list, invoke] }

async function runInvoke(context: CommandContext<typeof invokeOptions>): Promise<void> {
  const { args, options, print } = context
  const [name, text] = args as [string, string | undefined]
  const input = parse(text === '-' ? await readFileOrStdin('-', 'The input', limits.actionBytesMax) : (text ?? '{}'))
  await withClient(context, 'agent', async ({ client }) => {
    const done = await print.during(
      `calling ${oneLine(name)}`,
      client.call('action.invoke', { name, input, timeoutMs: options.timeout }),
    )
    if (print.isJson) await print.json(done)
    else if (done.ok) await print.json(done.output ?? null, 2)
    if (!done.ok) throw new CommandError(failureText(done), exitCodes.refused, { isPrintedAsJson: true })
  })
}

/** Returns the failure as one line. The relay's text for an unknown action names a tool that only agents have, so it is replaced. */
function failureText({ action, error, invocationId }: Extract<ActionEnvelope, { ok: false }>): string {
  const isUnknown = error.code === 'unknown_action'
  const why = isUnknown ? 'There is no such action. All actions: agent-relay actions' : error.message
  return `${action}: ${error.code}: ${why} (${invocationId})`
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new CommandError(`The input is not JSON: ${(error as Error).message}`, exitCodes.usage)
  }
}
