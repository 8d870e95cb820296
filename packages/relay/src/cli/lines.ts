// Messages and events as lines for people. Everything in them that others wrote is cleaned on the way.

import { spendText } from '@agent-relay/sdk/internal/spend-text'
import type { Message, RelayEvent, SpendNoted } from '@agent-relay/sdk/protocol'
import type { Print } from './print.ts'
import { clean, dateTimeOf, oneLine, shorten, sizeOf, timeOf, widthOf } from './text.ts'

/** Of a body in a feed that goes to a file or a pipe; a terminal cuts at its own width. */
const feedBodyCharsMax = 160
const feedBodyCharsMin = 20
/** The feed shows only the beginning of a body; cleaning all of a large one would block the daemon. */
const feedReadCharsMax = 16 * 1024

type Known = Pick<Message, 'from' | 'to' | 'kind' | 'body' | 'ts'>

/** `[14:32:01] dev-b → pm [status] "Task P4 DONE, last commit abc1234..."` */
export function feedLine(print: Print, { from, to, kind, body, ts }: Known): string {
  const [time, sender, target] = [`[${timeOf(ts)}]`, oneLine(from), addressText(to)]
  const used = widthOf(`${time} ${sender} → ${target} [${kind}] ""`)
  const room = print.width === Number.POSITIVE_INFINITY ? feedBodyCharsMax : print.width - used
  const text = shorten(oneLine(body.slice(0, feedReadCharsMax)), Math.max(feedBodyCharsMin, room), '...')
  return `${print.paint('dim', time)} ${print.paint('bold', sender)} → ${print.paint('bold', target)} ${kindText(print, kind)} "${text}"`
}

/** Head and body; the body is indented, so that no line of it can pass for another message's head. */
export function messageBlock(print: Print, message: Message): string {
  const { id, ts, from, to, kind, thread, replyTo, body } = message
  const about = [
    ...(thread !== undefined && thread !== replyTo ? [`thread ${oneLine(thread)}`] : []),
    ...(replyTo === undefined ? [] : [`reply to ${oneLine(replyTo)}`]),
  ]
  const head = [
    print.paint('dim', `${oneLine(id)}  ${dateTimeOf(ts)} `),
    `${print.paint('bold', oneLine(from))} → ${addressText(to)}`,
    ...(kind === 'free' ? [] : [kindText(print, kind)]),
    ...(about.length > 0 ? [print.paint('dim', `(${about.join(', ')})`)] : []),
  ].join(' ')
  return `${head}\n${indented(body)}`
}

/** Blocks with an empty line between them. */
export function messageBlocks(print: Print, messages: Message[]): string {
  return messages.map((message) => messageBlock(print, message)).join('\n\n')
}

export function indented(body: string): string {
  return clean(body).trimEnd().replace(/^/gm, '  ')
}

export function addressText(to: Message['to']): string {
  return oneLine(typeof to === 'string' ? to : to.join(', '))
}

function kindText(print: Print, kind: string): string {
  return print.paint(kind === 'question' || kind === 'directive' ? 'yellow' : 'cyan', `[${oneLine(kind)}]`)
}

/** A message as the feed shows it, anything else in a few words. */
export function eventLine(print: Print, event: RelayEvent): string {
  if (event.type === 'events.skipped') return skippedLine(print, event.fact)
  if (event.message) return feedLine(print, event.message)
  return print.paint('dim', `[${timeOf(event.ts)}] ${oneLine(factText(event))}`)
}

/** Events that came faster than they could be shown. */
export interface Skipped {
  count: number
  /** The entry before the first of them. */
  since: number
}

/** `… 812 more: agent-relay events --since 40211` */
export function skippedLine(print: Print, { count, since }: Skipped): string {
  return print.paint('dim', print.typed(`… ${count} more: agent-relay events --since ${since}`))
}

function factText({ type, by, fact }: RelayEvent): string {
  const { message, agent, channel, route, emoji, conversation, after, text, machine } = fact as Record<string, unknown>
  const name = typeof agent === 'object' && agent !== null ? (agent as { name?: string }).name : agent
  switch (type) {
    case 'agent.registered':
      return `${name} registered`
    case 'agent.updated':
      return `${name} changed its profile`
    case 'agent.token-issued':
      return `${name} got a new token`
    case 'agent.tokens-revoked':
      return `${name} lost its tokens: revoked by ${by}`
    case 'agent.retired':
      return `${name} was retired by ${by}`
    case 'agent.homed':
      return `${name} is at home on ${machine} now`
    case 'agent.briefed':
      return `${name} was briefed (${after}): ${text}`
    case 'workspace.key-issued':
      return 'the workspace got a new key'
    case 'workspace.policy-set':
      return `${by} changed the policy`
    case 'channel.created':
      return `${by} made ${channel}`
    case 'channel.joined':
      return `${name} joined ${channel === '*' ? 'the broadcast' : channel}`
    case 'channel.left':
      return `${name} left ${channel}`
    case 'channel.removed':
      return `${by} removed ${channel}`
    case 'conversation.opened':
      return `${by} opened ${conversation === '*' ? 'the broadcast' : `the conversation ${conversation}`}`
    case 'delivery.offered':
      return `${message} offered to ${name} (${route})`
    case 'delivery.held':
      return `${message} held for ${name}`
    case 'delivery.released':
      return `${message} goes back to the inbox of ${name}`
    case 'delivery.read':
      return `${message} read by ${name}`
    case 'reaction.added':
      return `${name} put ${emoji} on ${message}`
    case 'reaction.removed':
      return `${name} took ${emoji} off ${message}`
    case 'worker.wished':
    case 'worker.wish-changed':
    case 'worker.changed':
    case 'worker.worktree-removed':
      return workerText(type, by, fact)
    case 'run.started':
    case 'run.completed':
    case 'run.stopped':
      return runText(type, fact)
    default:
      if (type.startsWith('action.')) return actionText(type, fact)
      if (type.startsWith('approval.')) return approvalText(type, by, fact)
      if (type === 'spend.noted') return `${name} uses ${spentText(fact)}`
      return type.startsWith('claim.') ? claimText(type, fact) : `${type} by ${by}`
  }
}

function workerText(type: string, by: string, fact: Record<string, unknown>): string {
  const { worker, parent, cli, wish, status, reason, again } = fact
  const why = reason === undefined ? '' : `: ${reason}`
  if (type === 'worker.wished' && again !== undefined) return `${by} gives ${worker} its task again (${cli})`
  if (type === 'worker.wished') return `${parent} hires ${worker} (${cli})`
  if (type === 'worker.worktree-removed') return `the worktree of ${worker} is removed`
  if (type === 'worker.changed') return `worker ${worker} ${status}${why}`
  const verb = wish === 'gone' ? 'releases' : wish === 'paused' ? 'pauses' : 'resumes'
  return `${by} ${verb} ${worker}${why}`
}

function approvalText(type: string, by: string, fact: Record<string, unknown>): string {
  const { id, agent, tool, input, how, kind, surface, delegation, words } = fact
  if (type === 'approval.opened') return `${agent} wants ${tool}: ${input} (${id})`
  const what = kind === undefined ? '' : ` ${kind}`
  if (how !== 'answered') return `${id} of ${agent} is closed: ${how}${what}`
  const under = surface === 'delegation' ? `, as delegated (${delegation})` : ` (${surface})`
  return `${by} answers ${id} of ${agent}:${what}${words === undefined ? '' : `, "${words}"`}${under}`
}

function spentText(fact: Record<string, unknown>): string {
  const { tokens, usd, model } = fact as unknown as SpendNoted
  return `${spendText({ tokens, usd })}${model === undefined ? '' : ` of ${model}`}`
}

function claimText(type: string, fact: Record<string, unknown>): string {
  const { agent, file, path, why, what, count } = fact
  if (type === 'claim.made') return `${agent} claims ${file}`
  if (type === 'claim.renewed') return `${agent} goes on editing ${path}`
  if (type === 'claim.ended') return `the claim of ${agent} on ${file} ends: ${why}`
  // An event type of a newer daemon.
  if (type !== 'claim.denied' && type !== 'claim.passed') return `${type} by ${agent}`
  const [first] = fact.claims as { file: string; holder: string }[]
  const more = Number(count) > 1 ? ` and ${Number(count) - 1} more` : ''
  const how = type === 'claim.denied' ? 'is denied' : 'goes ahead with'
  return `${agent} ${how} ${what === 'git' ? 'a git command' : 'an edit'}: ${first?.holder} has ${first?.file}${more}`
}

/** The audit of an action: who called what, with how much input, how it ended and how long it took. */
function actionText(type: string, fact: Record<string, unknown>): string {
  const { name, provider, id, action, caller, inputBytes, ok, code, durationMs } = fact
  if (type === 'action.registered') return `${provider} offers ${name}`
  if (type === 'action.withdrawn') return `${provider} no longer offers ${name}`
  if (type === 'action.invoked') return `${caller} called ${action} with ${inputBytes} bytes (${id})`
  return `${action} for ${caller} ended after ${durationMs} ms: ${ok ? 'ok' : code} (${id})`
}

function runText(type: string, fact: Record<string, unknown>): string {
  const { id, agent, parent, harness, summary, payloadBytes, reason, again } = fact
  if (type === 'run.started' && again !== undefined)
    return `${agent} has a contract of ${parent} again, after ${again} (${harness}, ${id})`
  if (type === 'run.started') return `${agent} has a contract of ${parent} (${harness}, ${id})`
  if (type === 'run.stopped') return `${agent} stopped${reason === undefined ? '' : `: ${reason}`} (${id})`
  const payload = payloadBytes === undefined ? '' : ` with ${sizeOf(payloadBytes as number)} of payload`
  return `${agent} completes "${summary}"${payload} (${id})`
}
