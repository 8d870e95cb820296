// `needs`: lists the things that wait for the person who types, as the page does, and dismisses some of them.

import { shellQuote } from '@agent-relay/sdk/internal/command-words'
import type { Need } from '@agent-relay/sdk/protocol'
import type { CliCommand, CommandContext, NamedCommand } from '../command.ts'
import { withClient } from '../connection.ts'
import { needsElsewhereText, otherWorkspaces, showsAllWorkspaces } from '../everywhere.ts'
import { ageText, countedText, oneLine } from '../text.ts'

const saying: Record<Need['kind'], string> = {
  approval: 'asks for leave',
  blocked: 'is blocked',
  question: 'asks',
  failed: 'has failed',
  mention: 'writes',
}

const list: NamedCommand = {
  name: 'list',
  text: 'all that waits for you, the most urgent first',
  isDefault: true,
  examples: ['agent-relay needs', 'agent-relay needs --json', 'agent-relay needs --as alice'],
  run: runList,
}

async function runList(context: CommandContext): Promise<void> {
  const { print } = context
  await withClient(context, 'agent', async ({ client, welcome }) => {
    const { needs, more } = await client.call('need.list', {})
    if (print.isJson) return void (await print.json({ needs, more }))
    const others = showsAllWorkspaces(context) ? await otherWorkspaces(context, welcome.workspace) : []
    const elsewhere = needsElsewhereText(others)
    if (needs.length === 0 && elsewhere !== undefined) return print.say(`Nothing needs you here. ${elsewhere}`)
    if (needs.length === 0) return print.say('Nothing needs you. Nobody is blocked, and nobody waits for your answer.')
    await print.table(
      [{ head: 'SINCE' }, { head: 'WHO' }, { head: 'WHAT' }, { head: 'TEXT', mayShrink: true }, { head: 'KEY' }],
      needs.map((need) => [ageText(need.since), need.who, whatOf(need), textOf(need), need.key].map(oneLine)),
    )
    const hidden = more > 0 ? ` ${more} more are not shown.` : ''
    print.say(
      `${countedText(needs.length, 'thing')} need${needs.length === 1 ? 's' : ''} you.${hidden}  ${howTo(needs)}`,
    )
    if (elsewhere !== undefined) print.say(elsewhere)
  })
}

function whatOf({ kind, approval, message, count = 1 }: Need): string {
  const where = message?.channel === undefined ? '' : ` in ${message.channel}`
  const many = count > 1 ? ` (${count})` : ''
  return `${approval === undefined ? saying[kind] : approval}${where}${many}`
}

/** Returns what a need is about. For failed work: its task, why it ended, and why it cannot be continued. */
function textOf({ task, text, noContinue }: Need): string {
  const lost = noContinue === undefined ? [] : [`its conversation is lost: ${noContinue}`]
  return [...(task === undefined ? [] : [task]), text, ...lost].join(' · ')
}

/** Returns the commands with which the person can deal with the first need. */
function howTo([first]: Need[]): string {
  const { kind, who, key, approval, message, run, worker, canRetry, canContinue } = first as Need
  if (approval !== undefined) return `agent-relay approvals show ${approval}`
  if (kind === 'blocked') return `agent-relay attach ${who}`
  const dismissing = `agent-relay needs dismiss ${shellQuote(key)}`
  if (message) return `agent-relay send ${message.channel ?? who} TEXT --reply-to ${message.id}  ·  ${dismissing}`
  const looking = worker === undefined ? `agent-relay runs status ${run}` : `agent-relay logs ${who}`
  const again = `agent-relay retry ${run ?? who}`
  return [...(canContinue ? [`${again} --continue`] : []), canRetry ? again : looking, dismissing].join('  ·  ')
}

const dismiss: NamedCommand = {
  name: 'dismiss',
  args: '<key...>',
  text: 'take questions, messages, failed workers or failed runs off the list without an answer; later ones are listed again',
  examples: ['agent-relay needs dismiss "told:#build"', 'agent-relay needs dismiss failed:wk_1 failed:wk_2'],
  async run(context) {
    const { args, print } = context
    await withClient(context, 'agent', async ({ client }) => {
      for (const key of args) await client.call('need.dismiss', { key })
      if (print.isJson) return void (await print.json({ dismissed: args }))
      for (const key of args) await print.line(`Dismissed: ${oneLine(key)}`)
    })
  },
}

export const needs: CliCommand = {
  examples: ['agent-relay needs', 'agent-relay needs dismiss "told:#build"'],
  commands: [list, dismiss],
}
