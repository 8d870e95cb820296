// The brief: tells an agent its own situation after its model's memory was cut. This file composes the brief from the tables and the open waits for answers;
// broker/waking/briefs.ts and mcp/src/hooks/mail.cts ask for it.
//
// An agent owes an answer to a question that was sent to it alone or to a group, and to a message whose sender waits for the answer now, as long as
// core/answers.ts finds no answer. Nobody owes an answer to a question in a channel or to everybody; needs.ts has those that name a person.

import { cleanLineForModel } from '@agent-relay/sdk/internal/clean'
import { type AgentBriefed, isWithinBytes, limits, routesOutsideTools } from '@agent-relay/sdk/protocol'
import { agoText } from './ago-text.ts'
import { addressOf, directMembers, isChannel } from './conversations.ts'
import { isHeldBySession } from './inbox.ts'
import { findOpenQuestions } from './open-questions.ts'
import type { Steps } from './steps.ts'
import { type Command, recordFacts, type Verdict } from './verdict.ts'
import type { MessageHead, ReceiptRow, View } from './view.ts'

/** The longest quotes of a task and of a message in a brief, in characters. */
const [taskChars, quoteChars] = [280, 100]
const namesMax = 3
const linesMax = 4
/** The number of unread messages at which counting stops. */
const unreadMax = 1_000
/**
 * Messages shown within this time are left out of a brief: the model still has them, in its turn or in the memory that it kept. After a `clear`, which keeps
 * nothing, they are not left out.
 */
const justNowMs = 60_000
/** Bytes reserved for the brief's last line, which says how much was left out. */
const restBytes = 60

/** The agent that gets the brief, and why its memory was cut (`after`). `session`: the asking session, which may have been handed messages just now. */
export type BriefReader = Pick<Command<unknown>, 'by' | 'at' | 'world' | 'session'> &
  Pick<AgentBriefed, 'after'> & {
    /** The name of the tool with which the agent reads its mail. */
    inboxTool: string
  }

export type BriefInput = Pick<AgentBriefed, 'after' | 'text'>

/** Records a finished brief. It is composed before this command, since composing may take longer than a commit may. */
export function recordBrief(_: View, { input, by }: Command<BriefInput>): Verdict {
  const { after, text } = input
  return recordFacts([{ type: 'agent.briefed', agent: by, after, text }], { text })
}

/** Composes the brief. `awaited`: the messages whose senders wait for an answer now. */
export function* composeBrief(view: View, reader: BriefReader, awaited: readonly string[]): Steps<string> {
  const open = yield* findOpenQuestions(view, reader.by, awaited)
  const owes = open.filter(({ from }) => from !== reader.by).map((head) => oweLine(view, reader, head))
  const owed = open.filter(({ from }) => from === reader.by).map((head) => owedLine(view, reader, head))
  const unread = yield* unreadLines(view, reader)
  return joinFitting(
    reader,
    [whoLine(view, reader), ...unread, ...placeLines(view, reader.by), ...holdLines(view, reader.by)],
    [owes, owed],
  )
}

function whoLine(view: View, { by, at }: BriefReader): string {
  const worker = view.workers.byName(by)
  const run = view.runs.byAgent(by)
  const me = `Relay brief: you are ${by}`
  if (run?.status === 'running') {
    const contract = quote(view.runs.contract(run.id), taskChars)
    return `${me}. ${line(run.parent)} gave you run ${run.id} ${agoText(at, run.startedAt)}: ${contract}.`
  }
  if (worker && worker.status !== 'exited') {
    const task = view.workers.taskOf(worker.id)
    return `${me}, hired by ${line(worker.parent)} ${agoText(at, worker.at)}${task === undefined ? '' : `: ${quote(task, taskChars)}`}.`
  }
  const parent = view.agent(by)?.parent
  return parent === undefined ? `${me}.` : `${me}; you report to ${line(parent)}.`
}

function oweLine(view: View, { at }: BriefReader, head: MessageHead): string {
  const others = directMembers(head.conversation).length > 2 ? ' (and its group)' : ''
  return `You owe ${line(head.from)}${others} an answer: ${words(view, head)} (${agoText(at, head.at)}).`
}

function owedLine(view: View, { by, at }: BriefReader, head: MessageHead): string {
  const others = [addressOf(head.conversation, by)].flat()
  return `${list(others, 'or')} ${others.length > 1 ? 'owe' : 'owes'} you an answer: ${words(view, head)} (${agoText(at, head.at)}).`
}

/**
 * Counts unread messages: those handed to this session follow the brief, and others wait in the inbox. Messages that another session of the agent
 * holds are left to that session and not counted.
 */
function* unreadLines(view: View, reader: BriefReader): Steps<string[]> {
  const sources = new Set<string>()
  let [follow, wait] = [0, 0]
  for (const each of view.inbox.unread(reader.by, {})) {
    yield
    if (!each) continue
    const { head, receipt } = each
    if (reader.after !== 'clear' && isJustShown(reader, receipt)) continue
    if (!isHeldBySession(reader, receipt)) {
      sources.add(isChannel(head.conversation) ? head.conversation : head.from)
      wait++
    } else if (reader.session !== undefined && receipt?.session === reader.session) follow++
    if (follow + wait >= unreadMax) break
  }
  return [
    ...(follow === 0 ? [] : [follow === 1 ? '1 unread message follows.' : `${follow} unread messages follow.`]),
    ...(wait === 0
      ? []
      : [`${wait} ${follow === 0 ? '' : 'more '}unread: ${list([...sources])}. Call ${reader.inboxTool}.`]),
  ]
}

function isJustShown({ at }: BriefReader, receipt: ReceiptRow | undefined): boolean {
  const { route, offeredAt = 0 } = receipt ?? {}
  // A time in the future was stamped before the clock was set back, and does not count as recent.
  const isJustNow = offeredAt <= at && at - offeredAt < justNowMs
  return route !== undefined && routesOutsideTools.includes(route) && isJustNow
}

/** Returns the line about the git worktree in which the agent works; empty for an agent without a worktree of its own. */
function placeLines(view: View, by: string): string[] {
  const worker = view.workers.byName(by)
  if (!worker?.worktree || worker.status === 'exited') return []
  const { branch, path } = worker.worktree
  return [`You work on branch ${line(branch)}, in a git worktree of your own: ${line(path)}`]
}

/** Lists the workers and runs that the agent is in charge of, and the runs that it carries out. */
function holdLines(view: View, by: string): string[] {
  const workers = view.workers.running().filter(({ parent }) => parent === by)
  const running = view.runs.running()
  const given = running.filter(({ parent, agent }) => parent === by && agent !== by)
  // Lists only external runs (by a connected agent): the run for which an agent was made is in the brief's first line.
  const own = running.filter(({ agent, harness }) => agent === by && harness === 'external')
  return [
    ...(workers.length === 0
      ? []
      : [`Your workers: ${list(workers.map(({ name, status }) => `${name} (${status})`))}.`]),
    ...(given.length === 0 ? [] : [`Runs that others carry out for you: ${list(given.map(({ id }) => id))}.`]),
    ...(own.length === 0
      ? []
      : [`Runs that you carry out: ${list(own.map(({ id, parent }) => `${id} (for ${line(parent)})`))}.`]),
  ]
}

/** Joins the lines of `first` and then the newest lines of each list, as far as they fit. The last line counts those left out. */
function joinFitting({ inboxTool }: BriefReader, first: string[], lists: string[][]): string {
  const shown: string[] = []
  let left = 0
  const put = (text: string) => {
    const isFitting = isWithinBytes([...shown, text].join('\n'), limits.briefBytesMax - restBytes)
    if (isFitting) shown.push(text)
    else left++
  }
  for (const text of first) put(text)
  for (const lines of lists) {
    for (const text of lines.slice(0, linesMax)) put(text)
    left += Math.max(0, lines.length - linesMax)
  }
  return (left === 0 ? shown : [...shown, `${left} more like these: see ${inboxTool}(unread_only=false).`]).join('\n')
}

/** Quotes another agent's text: cleaned, on one line, and in quotes that the text cannot close. */
function quote(text: string, chars: number): string {
  // A long text is cut before cleaning, because cleaning takes time, and again afterwards, because cleaning may make the text longer.
  const clean = [...cleanLineForModel(text.slice(0, 4 * chars))]
  return JSON.stringify(clean.length > chars ? `${clean.slice(0, chars - 1).join('')}…` : clean.join(''))
}

function words(view: View, head: MessageHead): string {
  return quote(view.bodyStart(head, 4 * quoteChars), quoteChars)
}

const line = cleanLineForModel

function list(names: string[], last = 'and'): string {
  const shown = names.slice(0, namesMax).map(line)
  const more = names.length - shown.length
  if (more > 0) return `${shown.join(', ')} ${last} ${more} more`
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} ${last} ${shown.at(-1)}`
}
