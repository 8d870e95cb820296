// `approvals`, `approve`, `deny`: the open approvals of all CLIs in one list, and a person's answers to them.

import type { RelayClient } from '@agent-relay/sdk'
import { clean } from '@agent-relay/sdk/internal/clean'
import { permissionPhrase } from '@agent-relay/sdk/internal/permission-text'
import type { Approval, Delegation, OutputOf, Question } from '@agent-relay/sdk/protocol'
import {
  type CliCommand,
  type CliOptions,
  type CommandContext,
  CommandError,
  exitCodes,
  type NamedCommand,
  type OptionValues,
} from '../command.ts'
import { withClient, withClientAsPerson } from '../connection.ts'
import { endingSignal } from '../ending.ts'
import { announceDisconnects, followEvents } from '../feed.ts'
import { eventLine } from '../lines.ts'
import { ageText, countedText, dateTimeText, oneLine, withTilde } from '../text.ts'

const listOptions = {
  watch: { flags: '--watch', text: 'keep showing changes of approvals, until Ctrl-C' },
} satisfies CliOptions

const list: NamedCommand<typeof listOptions> = {
  name: 'list',
  text: 'the open approvals, oldest first',
  isDefault: true,
  options: listOptions,
  examples: ['agent-relay approvals', 'agent-relay approvals --watch', 'agent-relay approvals --json'],
  run: runList,
}

async function runList(context: CommandContext<typeof listOptions>): Promise<void> {
  const { options, print } = context
  const ending = options.watch ? endingSignal() : undefined
  await withClient(context, 'anyone', async ({ client }) => {
    await printApprovals(context, await client.call('approval.list', {}))
    if (!ending) return
    announceDisconnects(client, print, ending)
    const types = ['approval.*']
    // With --json, the whole list is printed again after each change.
    const again = async () => printApprovals(context, await client.call('approval.list', {}))
    await followEvents(
      client,
      { types },
      (event) => (print.isJson ? again() : print.line(eventLine(print, event))),
      ending,
    )
  })
}

const showOne: NamedCommand = {
  name: 'show',
  args: '<id>',
  text: 'one approval with its whole input, which the list shortens',
  examples: ['agent-relay approvals show ap-3'],
  async run(context) {
    const { args, print } = context
    await withClient(context, 'anyone', async ({ client }) => {
      const approval = await fetchApproval(client, args[0] as string)
      if (print.isJson) return void (await print.json(fieldsOf(approval)))
      await print.line(requestText(approval))
      if (approval.hidden) print.say(`${hiddenText(approval.hidden)}. Look at it at the terminal of ${approval.agent}.`)
    })
  },
}

export const approvals: CliCommand = {
  examples: ['agent-relay approvals', 'agent-relay approvals --watch', 'agent-relay approvals show ap-3'],
  commands: [list, showOne],
}

async function printApprovals(
  { print, env }: CommandContext,
  { approvals, delegations }: OutputOf<'approval.list'>,
): Promise<void> {
  if (print.isJson) return void (await print.json({ approvals: approvals.map(fieldsOf), delegations }))
  if (approvals.length > 0) {
    await print.table(
      [
        { head: 'ID' },
        { head: 'AGENT' },
        { head: 'SINCE' },
        { head: 'WHAT', mayShrink: true },
        { head: '', dropRank: 1 },
      ],
      approvals.map(({ id, agent, since, tool, input, hidden, vendor, directory, machine, choices }) => {
        const on = machine === undefined ? '' : ` on ${machine}`
        const where = `${on}${directory === undefined ? '' : ` · ${withTilde(directory, env.HOME)}`}`
        const more = hidden ? ` · ${hiddenText(hidden)}: ${print.typed(`agent-relay approvals show ${id}`)}` : ''
        const { wants, rest } = permissionPhrase({ tool, input })
        const only = choices.length > 0 ? '' : ` · ${print.typed(`agent-relay attach ${agent}`)}`
        return [id, agent, ageText(since), `${wants}  ${rest}`, `${vendor}${where}${more}${only}`].map(oneLine)
      }),
    )
  }
  for (const each of delegations) await print.line(oneLine(delegationLine(each)))
  print.say(approvals.length === 0 ? 'Nobody waits for an approval.' : howTo(approvals))
}

/** Returns the approval without its digest, which only the daemon uses. */
function fieldsOf({ digest: _, ...fields }: Approval) {
  return fields
}

function hiddenText({ chars, lines = 0 }: NonNullable<Approval['hidden']>): string {
  if (chars === 0) return 'holds characters that cannot be shown'
  return lines > 0 ? `… ${countedText(lines, 'more line')}` : `… ${countedText(chars, 'more character')}`
}

function howTo(approvals: Approval[]): string {
  const count = `${countedText(approvals.length, 'agent')} wait${approvals.length === 1 ? 's' : ''}.`
  const answerable = approvals.filter(({ choices }) => choices.length > 0)
  const [first, last] = [answerable[0], answerable.at(-1)]
  if (!first || !last) return `${count}  At its terminal: agent-relay attach ${approvals[0]?.agent}`
  const how = first.questions ? '--choice NUMBER' : '[--always]'
  return `${count}  agent-relay approve ${first.id} ${how}  ·  agent-relay deny ${last.id} "why not"`
}

export function delegationLine({ agent, for: whom, tools, pattern, until }: Delegation): string {
  const whose = whom === '*' ? 'all its workers' : whom
  const what = `${tools.join(', ')}${pattern === undefined ? '' : ` (${pattern})`}`
  return `${agent} may answer for ${whose}: ${what}, until ${dateTimeText(until)}`
}

const approveOptions = {
  always: { flags: '--always', text: 'also allow everything like it, for this session of that agent' },
  choice: { flags: '--choice <id>', text: 'one of its choices or options by its number; several with commas' },
  answer: {
    flags: '--answer <words>',
    text: 'for a question: an answer of your own, once for each question',
    isList: true,
  },
} satisfies CliOptions
type ApproveOptions = OptionValues<typeof approveOptions>

export const approve: CliCommand<typeof approveOptions> = {
  options: approveOptions,
  examples: ['agent-relay approve ap-3', 'agent-relay approve ap-3 --always', 'agent-relay approve ap-4 --choice 2'],
  run: (context) => runAnswer(context, context.options.always ? 'always' : 'allow', context.options),
}

export const deny: CliCommand = {
  examples: ['agent-relay deny ap-3', 'agent-relay deny ap-3 "Not on the shared database. Use the copy."'],
  run: (context) => runAnswer(context, 'deny', {}, context.args.slice(1).join(' ') || undefined),
}

async function runAnswer(
  context: CommandContext,
  kind: 'allow' | 'always' | 'deny',
  { choice, answer: own }: Pick<ApproveOptions, 'choice' | 'answer'>,
  words?: string,
): Promise<void> {
  const { args, print } = context
  const id = args[0] as string
  await withClientAsPerson(context, async ({ client }) => {
    const listed = await findListed(client, id)
    // A person who allows a request that was cut for the list is shown all of it that the daemon has kept.
    const asked = listed?.hidden && kind !== 'deny' ? await fetchApproval(client, id) : listed
    const answers = asked?.questions && kind !== 'deny' ? answersOf(asked.questions, choice, own) : undefined
    const wanted = answers ? 'other' : kind
    const chosen = (answers ? undefined : choice) ?? asked?.choices.find((each) => each.kind === wanted)?.id
    const isLacking = asked?.questions && kind !== 'deny' ? !answers : chosen === undefined
    if (asked && isLacking) throw new CommandError(print.typed(lackingText(asked, kind)), exitCodes.refused)
    if (asked && kind !== 'deny') await showAndConfirm(context, asked)
    // If the approval is not open any more, the call is sent all the same: its answer tells how the approval ended.
    const input = { id, choice: chosen ?? kind, digest: asked?.digest ?? '', words, answers }
    const answer = await client.call('approval.answer', input)
    if (print.isJson) return void (await print.json(answer))
    await print.line(oneLine(answeredText(answer, asked?.vendor ?? 'its CLI', words)))
  })
}

/**
 * Prints the request that the person is about to allow. If parts of it cannot be shown, the person must confirm. Tags that hosts of models use are not removed
 * here: a person must see the exact text, and no agent can run this code.
 */
async function showAndConfirm({ print }: CommandContext, { id, agent, hidden, ...asked }: Approval): Promise<void> {
  if (!print.isJson) await print.line(requestText({ agent, ...asked }))
  if (!hidden) return
  const what = `${id}: ${hiddenText(hidden)}`
  if (print.isJson || !process.stdin.isTTY) {
    const fix = `Look at it at the terminal of ${agent}, or allow it at a terminal of your own: agent-relay approve ${id}`
    throw new CommandError(
      print.typed(oneLine(`${what}, and there is no terminal to ask on. ${fix}`)),
      exitCodes.refused,
    )
  }
  const prompts = await import('@clack/prompts')
  if ((await prompts.confirm({ message: `${what}. Allow it all the same?`, initialValue: false })) !== true)
    throw new CommandError(`Nothing was answered. To say no: agent-relay deny ${id}`, exitCodes.refused)
}

/** Returns the request as text: a line such as `Ann wants to run:`, then the whole input, indented. */
function requestText({ agent, tool, input }: Pick<Approval, 'agent' | 'tool' | 'input'>): string {
  const { wants, rest } = permissionPhrase({ tool, input: clean(input) })
  return [oneLine(`${agent} ${wants}:`), ...rest.split('\n').map((line) => `  ${line}`)].join('\n')
}

async function fetchApproval(client: RelayClient, id: string): Promise<Approval> {
  return (await client.call('approval.show', { id })).approval
}

async function findListed(client: RelayClient, id: string): Promise<Approval | undefined> {
  return (await client.call('approval.list', {})).approvals.find((each) => each.id === id)
}

/** Returns an answer for each of the agent's questions, from the chosen numbers or the text; undefined if these do not fit the questions. */
function answersOf(questions: readonly Question[], choice?: string, words?: string[]): string[] | undefined {
  if (words) return words.length === questions.length ? words : undefined
  const [only, ...more] = questions
  if (choice === undefined || !only || more.length > 0) return undefined
  const labels = choice.split(',').map((each) => only.options[Number(each) - 1]?.label)
  const isFit = labels.every((label) => label !== undefined) && (labels.length === 1 || only.isMany)
  return isFit ? [labels.join(', ')] : undefined
}

function lackingText({ id, agent, choices, questions }: Approval, kind: string): string {
  if (questions) {
    const all = questions.map(({ text, options }) => {
      return oneLine(`${text} ${options.map(({ label }, i) => `${i + 1} (${label})`).join(', ')}`)
    })
    const own = questions.map(() => '--answer "words"').join(' ')
    const how = questions.length === 1 ? `--choice NUMBER, or ${own}` : own
    return `${id} is a question: allowing it is not an answer. ${all.join(' ')}. To answer: agent-relay approve ${id} ${how}`
  }
  if (choices.length === 0) return `${id} can only be answered at the terminal: agent-relay attach ${agent}`
  const all = choices.map((each) => `${each.id}${each.label === undefined ? '' : ` (${each.label})`}`).join(', ')
  return `${id} has no such answer (${kind}). Its choices: ${all}. To give one: agent-relay approve ${id} --choice ID`
}

function answeredText(
  { agent, kind, wordsReach, wordsAs }: OutputOf<'approval.answer'>,
  vendor: string,
  words?: string,
): string {
  if (kind === 'allow') return `Allowed. ${agent} goes on.`
  if (kind === 'always') return `Allowed for this session of ${agent}, with everything like it.`
  if (kind !== 'deny') return `Answered. ${agent} goes on.`
  if (words === undefined) return 'Denied.'
  if (wordsAs === 'message') return `Denied. Your words went to ${agent} as a message: ${vendor} cannot pass them on.`
  return wordsReach ? `Denied. ${agent} was told why.` : `Denied. ${vendor} cannot pass the words on to ${agent}.`
}
