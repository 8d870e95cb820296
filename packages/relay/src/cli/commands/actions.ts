// `actions`: what programs offer to agents, and calling one by hand.

import type { ActionEnvelope } from '@agent-relay/sdk/protocol'
import { CommandError, exits, type Run } from '../command.ts'
import { withClient } from '../context.ts'
import { clean, oneLine } from '../text.ts'

export const list: Run = async (invocation) => {
  const { print } = invocation
  await withClient(invocation, 'agent', async ({ client }) => {
    const { actions } = await client.call('action.list', {})
    if (print.isJson) return void (await print.json({ actions }))
    if (actions.length === 0) return print.say('No program offers an action now.')
    await print.table(
      [{ head: 'ACTION' }, { head: 'BY' }, { head: 'WHAT IT DOES', mayShrink: true }],
      actions.map(({ name, provider, description }) => [name, provider, description].map(oneLine)),
    )
  })
}

export const invoke: Run = async (invocation) => {
  const { args, options, print } = invocation
  const [name, text] = args as [string, string | undefined]
  const input = parse(text === '-' ? await fromStdin() : (text ?? '{}'))
  await withClient(invocation, 'agent', async ({ client }) => {
    const done = await print.during(
      `calling ${oneLine(name)}`,
      client.call('action.invoke', { name, input, timeoutMs: options.timeout }),
    )
    if (print.isJson) await print.json(done)
    else if (done.ok) await print.line(clean(JSON.stringify(done.output, null, 2)))
    if (!done.ok) throw new CommandError(failureText(done), exits.refused, { isAnswered: true })
  })
}

/** The relay's own words for an unknown one name a tool, which a person has not. */
function failureText({ action, error, invocationId }: Extract<ActionEnvelope, { ok: false }>): string {
  const isUnknown = error.code === 'unknown_action'
  const why = isUnknown ? 'There is no such action. All actions: agent-relay actions' : error.message
  return `${action}: ${error.code}: ${why} (${invocationId})`
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new CommandError(`The input is not JSON: ${(error as Error).message}`, exits.usage)
  }
}

async function fromStdin(): Promise<string> {
  let text = ''
  for await (const chunk of process.stdin.setEncoding('utf8')) text += chunk
  return text
}
