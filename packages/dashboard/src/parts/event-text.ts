// A fact of the journal in a few words, whom it concerns, and where it belongs.

import type { RelayEvent } from '@agent-relay/sdk/browser'
import { conversationOf } from '../store/conversations.ts'

const [shown, quoted] = [160, 70]

/** `bodies` are those of the messages nearby, by which a delivery or a reaction says of what. */
export function eventText(event: RelayEvent, bodies?: ReadonlyMap<string, string>): string {
  const { type, fact, message, by } = event
  const f = fact as Words
  const body = bodies?.get(String(fact.message))
  const of = body === undefined ? '' : `: ${cut(body, quoted)}`
  switch (type) {
    case 'message.created':
      return message ? `${message.from} → ${toText(message.to)}: ${cut(message.body, shown)}` : `message ${f.id}`
    case 'delivery.offered':
      return `offered to ${f.agent} by ${f.route}${of}`
    case 'delivery.read':
      return `read by ${f.agent}${of}`
    case 'delivery.released':
      return `goes back to the inbox of ${f.agent}${of}`
    case 'reaction.added':
      return `${f.agent} reacts with ${f.emoji}${of}`
    case 'reaction.removed':
      return `${f.agent} takes ${f.emoji} back${of}`
    case 'workspace.began':
      return 'the workspace begins'
    case 'workspace.key-issued':
      return 'the workspace gets a new key'
    case 'workspace.policy-set':
      return `${by} changes the policy`
    case 'conversation.opened':
      return `${by} opens ${placeText(f.conversation)}`
    case 'channel.created':
      return `${by} makes ${f.channel}`
    case 'channel.joined':
      return `${f.agent} enters ${placeText(f.channel)}`
    case 'channel.left':
      return `${f.agent} leaves ${placeText(f.channel)}`
    default:
      return (
        agentText(event) ?? actionText(type, f) ?? workerText(type, by, f) ?? runText(type, f) ?? `${type} by ${by}`
      )
  }
}

const cut = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max)} …` : text)

type Words = Record<string, string | number | boolean | undefined>

function agentText({ type, fact, by }: RelayEvent): string | undefined {
  switch (type) {
    case 'agent.registered':
      return `${agentOf(fact)} comes for the first time`
    case 'agent.updated':
      return `${agentOf(fact)} changes its profile`
    case 'agent.token-issued':
      return `${agentOf(fact)} gets a new token`
    case 'agent.tokens-revoked':
      return `${agentOf(fact)} loses its tokens: revoked by ${by}`
  }
}

function actionText(type: string, { name, provider, action, caller, ok, code, durationMs }: Words): string | undefined {
  switch (type) {
    case 'action.registered':
      return `${provider} offers ${name}`
    case 'action.withdrawn':
      return `${provider} no longer offers ${name}`
    case 'action.invoked':
      return `${caller} calls ${action}`
    case 'action.completed':
      return `${action} for ${caller}: ${ok ? 'done' : code} in ${durationMs} ms`
  }
}

function workerText(type: string, by: string, f: Words): string | undefined {
  switch (type) {
    case 'worker.wished':
      return `${f.parent} hires ${f.worker} (${f.cli})`
    case 'worker.wish-changed':
      return `${by} ${wishVerbs[String(f.wish)] ?? f.wish} ${f.worker}${why(f)}`
    case 'worker.changed':
      return `${f.worker} ${f.status === 'exited' ? 'has' : 'is'} ${f.status}${why(f)}`
  }
}

const wishVerbs: Record<string, string> = { run: 'resumes', paused: 'pauses', gone: 'releases' }

function runText(type: string, f: Words): string | undefined {
  switch (type) {
    case 'run.started':
      return `${f.agent} has a contract of ${f.parent} (${f.harness})`
    case 'run.completed':
      return `${f.agent} completes: ${cut(String(f.summary), shown)}`
    case 'run.stopped':
      return `the run of ${f.agent} stops${why(f)}`
  }
}

const why = ({ reason }: Words): string => (reason === undefined ? '' : `: ${reason}`)

const placeText = (place: Words[string]): string => (place === '*' ? 'the broadcast' : String(place))

const toText = (to: string | string[]): string => (Array.isArray(to) ? to.join(', ') : to === '*' ? 'everyone' : to)

function agentOf({ agent }: Record<string, unknown>): string {
  return typeof agent === 'object' && agent !== null ? String((agent as { name?: unknown }).name) : String(agent)
}

/** Its own among all events: facts of one entry share its number. */
export function eventKey({ seq, type, fact }: RelayEvent): string {
  const own = [fact.id, fact.message, fact.agent, fact.channel, fact.conversation, fact.name]
  return [seq, type, ...own.filter((part) => typeof part === 'string')].join(' ')
}

/** Everybody a fact is about, its author first. */
export function partiesOf({ by, fact, message }: RelayEvent): string[] {
  const named = [fact.agent, fact.worker, fact.caller, fact.provider, fact.parent].filter(
    (name) => typeof name === 'string',
  )
  const to = message ? (Array.isArray(message.to) ? message.to : [message.to]) : []
  return [...new Set([by, ...(named as string[]), ...to.filter((name) => !/^[#*]/.test(name))])]
}

/** The lane of its author: the daemon itself writes what nobody asked for. */
export function authorOf({ by, fact, message, type }: RelayEvent): string {
  if (message) return message.from
  if (type.startsWith('delivery.') && typeof fact.agent === 'string') return fact.agent
  return by
}

export function placeOf({ fact, message }: RelayEvent): string | undefined {
  if (message) return conversationOf(message)
  const place = fact.conversation ?? fact.channel
  return typeof place === 'string' ? place : undefined
}
