// An event in a few words: one row for each type. A file may come from anybody, and a newer daemon knows other facts: what a row does not find is
// a question mark, and a type without a row says its name. Whom an event concerns and where it belongs: see store/concerns.ts.

import { cleanLine, type EventName, type EventOf, type RelayEvent, spendText } from '@agent-relay/sdk/internal/page'
import { previewOf } from './markdown-tree.ts'

const [shown, quoted] = [160, 70]

/** `of` reads a field of the fact, for people. */
type Words<Name extends EventName> = (
  of: (field: keyof EventOf<Name>['fact'] & string) => string,
  event: EventOf<Name>,
) => string

/** `bodies` are those of the messages nearby, by which a delivery or a reaction says of what. */
export function eventText(event: RelayEvent, bodies?: ReadonlyMap<string, string>): string {
  const { type, by, fact } = event
  // Its own: a file may name a type `constructor`.
  const words = Object.hasOwn(texts, type) ? (texts[type] as Words<EventName> | undefined) : undefined
  if (!words) return `${cut(cleanLine(type), quoted)} by ${cut(cleanLine(by), quoted)}`
  const said = words((field: string) => read(fact, field), event)
  const body = /^(?:delivery|reaction)\./.test(type) ? bodies?.get(read(fact, 'message')) : undefined
  return body === undefined ? said : `${said}: ${cut(previewOf(body), quoted)}`
}

export function toText(to: string | string[]): string {
  return Array.isArray(to) ? to.join(', ') : to === '*' ? 'everyone' : to
}

const texts: { [Name in EventName]?: Words<Name> } = {
  'message.created': (_, { message: { from, to, body } }) => `${from} → ${toText(to)}: ${cut(previewOf(body), shown)}`,
  'delivery.offered': (of) => `offered to ${of('agent')} by ${of('route')}`,
  'delivery.held': (of) => `held for ${of('agent')}, to be offered`,
  'delivery.read': (of) => `read by ${of('agent')}`,
  'delivery.released': (of) => `goes back to the inbox of ${of('agent')}`,
  'reaction.added': (of) => `${of('agent')} reacts with ${of('emoji')}`,
  'reaction.removed': (of) => `${of('agent')} takes ${of('emoji')} back`,
  'workspace.began': () => 'the workspace begins',
  'workspace.key-issued': () => 'the workspace gets a new key',
  'workspace.policy-set': (_, { by }) => `${by} changes the policy`,
  'conversation.opened': (of, { by }) => `${by} opens ${placeText(of('conversation'))}`,
  'channel.created': (of, { by }) => `${by} makes ${of('channel')}`,
  'channel.removed': (of, { by }) => `${by} removes ${of('channel')}`,
  'channel.joined': (of) => `${of('agent')} enters ${placeText(of('channel'))}`,
  'channel.left': (of) => `${of('agent')} leaves ${placeText(of('channel'))}`,
  'agent.registered': (_, { fact }) => `${read(fact.agent, 'name')} comes for the first time`,
  'agent.updated': (_, { fact }) => `${read(fact.agent, 'name')} changes its profile`,
  'agent.token-issued': (of) => `${of('agent')} gets a new token`,
  'agent.tokens-revoked': (of, { by }) => `${of('agent')} loses its tokens: revoked by ${by}`,
  'agent.retired': (of, { by }) => `${of('agent')} is retired by ${by}`,
  'agent.homed': (of) => `${of('agent')} is at home on ${of('machine')} now`,
  'agent.briefed': (of) => `${of('agent')} is briefed (${of('after')}): ${of('text')}`,
  'action.registered': (of) => `${of('provider')} offers ${of('name')}`,
  'action.withdrawn': (of) => `${of('provider')} no longer offers ${of('name')}`,
  'action.invoked': (of) => `${of('caller')} calls ${of('action')}`,
  'action.completed': (of, { fact }) =>
    `${of('action')} for ${of('caller')}: ${fact.ok ? 'done' : of('code')} in ${of('durationMs')} ms`,
  'worker.wished': (of, { by, fact }) =>
    fact.again === undefined
      ? `${of('parent')} hires ${of('worker')} (${of('cli')})`
      : `${by} gives ${of('worker')} its task again (${of('cli')})`,
  'worker.wish-changed': (of, { by, fact }) =>
    `${by} ${wishVerbs.get(fact.wish) ?? of('wish')} ${of('worker')}${why(fact)}`,
  'worker.worktree-removed': (of) => `the worktree of ${of('worker')} is removed`,
  'worker.changed': (of, { fact }) =>
    `${of('worker')} ${fact.status === 'exited' ? 'has' : 'is'} ${of('status')}${why(fact)}`,
  'run.started': (of, { fact }) =>
    `${of('agent')} has a contract of ${of('parent')}${fact.again === undefined ? '' : ' again'} (${of('harness')})`,
  'run.completed': (of) => `${of('agent')} completes: ${of('summary')}`,
  'run.stopped': (of, { fact }) => `the run of ${of('agent')} stops${why(fact)}`,
  'approval.opened': (of) => `${of('agent')} wants ${of('tool')}: ${of('input')} (${of('id')})`,
  'approval.closed': (of, { by, fact }) => {
    const what = fact.kind === undefined ? '' : ` ${of('kind')}`
    const whose = `${of('id')} of ${of('agent')}`
    return fact.how === 'answered' ? `${by} answers ${whose}:${what}` : `${whose} is closed: ${of('how')}${what}`
  },
  'spend.noted': (of, { fact }) =>
    `${of('agent')} uses ${spentText(fact)}${fact.model === undefined ? '' : ` of ${of('model')}`}`,
  'claim.made': (of) => `${of('agent')} claims ${of('file')}`,
  'claim.renewed': (of) => `${of('agent')} goes on editing ${of('path')}`,
  'claim.ended': (of) => `the claim of ${of('agent')} on ${of('file')} ends: ${of('why')}`,
  'claim.denied': (of, { fact }) => `${of('agent')} is denied ${crossing(fact)}`,
  'claim.passed': (of, { fact }) => `${of('agent')} goes ahead with ${crossing(fact)}`,
}

const wishVerbs: ReadonlyMap<string, string> = new Map([
  ['run', 'resumes'],
  ['paused', 'pauses'],
  ['gone', 'releases'],
])

/** A file may hold anything in the place of its tokens. */
function spentText({ tokens, usd }: EventOf<'spend.noted'>['fact']): string {
  const { input, output, cached } = Object(tokens) as Record<string, unknown>
  if (typeof input !== 'number' || typeof output !== 'number') return '?'
  const cost = typeof usd === 'number' ? { usd } : {}
  return spendText({ tokens: { input, output, cached: Number(cached) }, ...cost })
}

function crossing({ what, claims, count }: EventOf<'claim.denied' | 'claim.passed'>['fact']): string {
  const [first] = [claims].flat()
  const more = typeof count === 'number' && count > 1 ? ` and ${count - 1} more` : ''
  return `${what === 'git' ? 'a git command' : 'an edit'}: ${read(first, 'holder')} has ${read(first, 'file')}${more}`
}

/** A field as a short text; a question mark where there is none. */
function read(record: unknown, field: string): string {
  const value = (record as Record<string, unknown> | null | undefined)?.[field]
  if (typeof value === 'string') return cut(previewOf(value), shown)
  return typeof value === 'number' ? String(value) : '?'
}

const cut = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max)} …` : text)

const why = (fact: { reason?: string }): string => (fact.reason === undefined ? '' : `: ${read(fact, 'reason')}`)

const placeText = (place: string): string => (place === '*' ? 'the broadcast' : place)
