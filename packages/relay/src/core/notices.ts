// Rules for notices that agents ask for: to be told once that another agent is idle, has ended or has answered. One journal entry holds both the message
// that tells the asker and the end of the asker's request. broker/waking/notices.ts watches for the occasion.
//
//   (none) → awaited → (none): told, dropped, or the asker was retired

import { cleanLine } from '@agent-relay/sdk/internal/clean'
import { daemonName, type Fact, limits, type ParsedInputOf } from '@agent-relay/sdk/protocol'
import { refuseUnknownAgent } from './agents.ts'
import { answerPlaces } from './answers.ts'
import { directKey } from './conversations.ts'
import { firstLine } from './first-line.ts'
import { send } from './messages.ts'
import { isPartyTo, sees } from './sight.ts'
import { type Command, recordFacts, refuse, type Verdict } from './verdict.ts'
import type { MessageHead, NoticeKey, NoticeRow, View, WorkerRow } from './view.ts'

/** The state of an agent as the daemon observes it; it is in no table. away: nobody has been connected as this agent for a while. */
export type ObservedState = 'idle' | 'away' | undefined

export interface AskInput extends ParsedInputOf<'notice.ask'> {
  seen: ObservedState
}

/** The longest quote of an answer or a reason in a notice: enough to know what it is about. */
const wordsCharsMax = 150
/** The number of characters to which a message's body is cut before it is cleaned for a quote. */
const headChars = 400

export function askNotice(view: View, command: Command<AskInput>): Verdict {
  const { input, by: asker, at } = command
  const { agent, when, message, seen } = input
  if (!view.agent(asker)) return refuse('agent.required')
  if (agent === asker) return refuse('notice.yourself')
  if (!view.agent(agent)) return refuseUnknownAgent(view, agent)
  const head = message === undefined ? undefined : view.message(message)
  if (message !== undefined && (!head || !isPartyTo(view, asker, head))) return refuse('message.unknown', { message })
  if (head && !view.isRecipient(agent, head)) return refuse('notice.not-sent', { message, agent })
  const asked = { asker, agent, when, message, after: view.lastNumber(directKey([asker, agent])) ?? 0 }
  const already = noticeNewsText(view, command, { ...asked, at }, seen)
  if (already !== undefined) return recordFacts([], { already })
  if (view.notices.find(asked)) return recordFacts([])
  const [count, own] = [view.notices.count(), view.notices.of(asker).length]
  if (own >= limits.noticesOfAgentMax) return refuse('notice.too-many-yours', { count: own })
  if (count >= limits.noticesMax) return refuse('notice.too-many', { count })
  return recordFacts([{ type: 'notice.asked', ...asked }])
}

export function dropNotice(view: View, { input, by }: Command<ParsedInputOf<'notice.drop'>>): Verdict {
  const { agent, when } = input
  const own = view.notices.of(by).filter((row) => row.agent === agent && (when === undefined || row.when === when))
  if (own.length === 0) return refuse('notice.none', { agent })
  return recordFacts(
    own.map((row) => ended(row, 'dropped')),
    { dropped: own.length },
  )
}

export interface TellInput extends NoticeKey {
  seen: ObservedState
}

/** Tells the asker, if there is news. Only the daemon gives this command, and may repeat it: a notice that was told is not awaited any more. */
export function tellNotice(view: View, command: Command<TellInput>): Verdict {
  const { seen, ...key } = command.input
  const row = view.notices.find(key)
  const body = row && noticeNewsText(view, command, row, seen)
  if (!row || body === undefined) return recordFacts([])
  const told = send(view, { ...command, by: daemonName, input: { to: row.asker, body, kind: 'status' } })
  if ('refusal' in told) return told
  return recordFacts([ended(row, 'told'), ...told.facts], {}, body)
}

function ended({ asker, agent, when, message }: NoticeKey, why: 'told' | 'dropped' | 'retired'): Fact {
  return { type: 'notice.ended', asker, agent, when, message, why }
}

/**
 * Returns the text of a notice; undefined while there is no news. If the agent has ended for good, there is news whatever the asker waits for, since nothing
 * else will come.
 */
export function noticeNewsText(
  view: View,
  { at, world }: Pick<Command<unknown>, 'at' | 'world'>,
  row: NoticeRow,
  seen: ObservedState,
): string | undefined {
  const { agent, when, message } = row
  if (!view.agent(agent)) return `${agent} has ended: it was retired.`
  const answer = when === 'answered' ? answerTo(view, row) : undefined
  if (answer) return `${agent} has answered: ${answer.id} "${inWords(view.bodyStart(answer, headChars))}"`
  const worker = view.workers.byName(agent)
  if (worker?.status === 'exited' && !world.isLive(agent)) return `${agent} has ended${reasonFor(view, row, worker)}.`
  if (when === 'ended' && seen === 'away') return `${agent} has ended: nobody is connected under that name.`
  if (when !== 'idle' || seen !== 'idle' || !wasShown(view, row, at)) return undefined
  return `${agent} is idle${message === undefined ? '' : `, and was shown your message ${message}`}.`
}

/**
 * Finds the agent's first answer to the message, as answers.ts counts answers; without a message, the first thing that the agent has since written to the
 * asker alone.
 */
function answerTo(view: View, { asker, agent, message, after }: NoticeRow): MessageHead | undefined {
  const head = message === undefined ? undefined : view.message(message)
  const pair = { conversation: directKey([asker, agent]), n: after, seq: 0, from: asker }
  const asked = head ?? pair
  const isNamed = head?.thread !== undefined && head.replyTo === undefined
  const found = (head ? answerPlaces(head, isNamed) : (['pair'] as const)).flatMap((place) =>
    view.messagesAfter(place, asked),
  )
  const own = found.filter((each) => each.from === agent && view.isRecipient(asker, each))
  return own.sort((a, b) => a.seq - b.seq)[0]
}

/**
 * Whether the message was shown so long ago that an agent which is idle now will not begin with it any more. If the clock was set back since, this is true, so
 * that the asker need not wait.
 */
function wasShown(view: View, { agent, message }: NoticeRow, at: number): boolean {
  const head = message === undefined ? undefined : view.message(message)
  if (!head) return true
  const { offeredAt, readAt = offeredAt } = view.receipt(agent, head) ?? {}
  return readAt !== undefined && (at < readAt || at - readAt >= limits.noticeShownMs)
}

/** Returns the reason why a worker ended; empty for an asker who may not see the worker. */
function reasonFor(view: View, { asker }: NoticeRow, worker: WorkerRow): string {
  if (!sees(view, { agent: asker, standing: { rank: 'agent' } }, 'worker', worker)) return ''
  const { reason = worker.code === undefined ? '' : `code ${worker.code}` } = worker
  const words = inWords(reason)
  return words === '' ? '' : `: ${words}`
}

/** Shortens text to one line without quotes, so that no words of another agent can pass for the daemon's. */
function inWords(text: string): string {
  const words = cleanLine(firstLine(text)).replaceAll('"', "'")
  return words.length <= wordsCharsMax ? words : `${words.slice(0, wordsCharsMax)}…`
}
