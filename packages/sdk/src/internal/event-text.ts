// Describes events in a few words, for the command line and the dashboard alike, by a table with one row for each type of event. A recording may come from
// anybody, and a newer daemon may send other facts: a missing field becomes a question mark, and an unknown type gets no text.

import type { EventName, EventOf, RelayEvent } from '../protocol/events.ts'
import { permissionPhrase } from './permission-text.ts'
import { spendText } from './spend-text.ts'

/** Reads a field of an object as a clean and short text; a question mark if the field is missing. */
export type ReadField = (record: unknown, field: string) => string

/**
 * The event types that have a row in this file's table. Left out are messages, which are shown as messages; skipped events, which are only counted; and
 * `deliveries.noted`, whose deliveries come as events of their own.
 */
type TextName = Exclude<EventName, 'message.created' | 'events.skipped' | 'deliveries.noted'>

/** Makes the text of an event. `of` reads one field of the event's fact. */
type EventTextMaker<Name extends TextName> = (
  of: (field: keyof EventOf<Name>['fact'] & string) => string,
  event: EventOf<Name>,
  read: ReadField,
) => string

/** Returns a text about the types in a watch's filter that no event can have; undefined if there are none. */
export function unknownTypesText(types: readonly string[] = []): string | undefined {
  const names = [...Object.keys(texts), 'message.created']
  const isKnown = (type: string) =>
    type === '*' ||
    (type.endsWith('.*') ? names.some((name) => name.startsWith(type.slice(0, -1))) : names.includes(type))
  const strange = types.filter((type) => !isKnown(type))
  if (strange.length === 0) return undefined
  const families = [...new Set(names.map((name) => `${name.slice(0, name.indexOf('.'))}.*`))]
  return `No event is of the type ${strange.map((type) => `"${type}"`).join(', ')}. There are ${families.join(', ')}.`
}

/** Returns the text of an event; undefined for a type that has no row in the table. */
export function describeEvent(event: RelayEvent, read: ReadField): string | undefined {
  // `Object.hasOwn`, because an event in a recording may have a type such as `constructor`.
  const words = Object.hasOwn(texts, event.type)
    ? (texts[event.type as TextName] as EventTextMaker<TextName>)
    : undefined
  return words?.((field: string) => read(event.fact, field), event as EventOf<TextName>, read)
}

/** Types of events about the workings of the relay itself. Lists for people leave these events out unless somebody asks for them. */
const machineTypes: ReadonlySet<EventName> = new Set([
  ...(['delivery.offered', 'delivery.held', 'delivery.read', 'delivery.released', 'session.event'] as const),
  ...(['action.registered', 'action.withdrawn', 'agent.updated', 'agent.token-issued', 'agent.briefed'] as const),
  ...([
    'channel.joined',
    'channel.left',
    'conversation.opened',
    'claim.renewed',
    'spend.noted',
    'need.dismissed',
  ] as const),
  ...(['workspace.began', 'workspace.raised'] as const),
])

/** The types of all events that are not in `machineTypes`. */
export function mainEventTypes(): EventName[] {
  const all = ['message.created', ...Object.keys(texts)] as EventName[]
  return all.filter((type) => !machineTypes.has(type))
}

type FamilyOf<Name> = Name extends `${infer Family}.${string}` ? Family : never

/** The words that people are shown for families of events (the part of a type before its dot). */
export const eventFamilies: Readonly<Record<FamilyOf<TextName | 'message.created'>, string>> = {
  ...{ message: 'messages', delivery: 'deliveries', reaction: 'reactions', approval: 'approvals' },
  ...{ action: 'actions', worker: 'workers', run: 'runs', claim: 'claims', agent: 'agents', session: 'connections' },
  ...{ channel: 'channels', conversation: 'conversations', notice: 'notices', need: 'needs', spend: 'spending' },
  ...{ workspace: 'workspace', machine: 'machines' },
}

/** Returns the word for an event's family; undefined for a family that only a newer daemon knows. */
export function familyText({ type }: Pick<RelayEvent, 'type'>): string | undefined {
  const [family = ''] = type.split('.')
  return Object.hasOwn(eventFamilies, family) ? eventFamilies[family as keyof typeof eventFamilies] : undefined
}

const texts: { [Name in TextName]: EventTextMaker<Name> } = {
  'delivery.offered': (of) => `offered to ${of('agent')} by ${of('route')}`,
  'delivery.held': (of) => `held for ${of('agent')}, to be offered`,
  'delivery.read': (of) => `read by ${of('agent')}`,
  'delivery.released': (of) => `goes back to the inbox of ${of('agent')}`,
  'session.event': (of, { fact }) => `${of('agent')} ${fact.state === 'connected' ? 'connects' : 'leaves'}`,
  'reaction.added': (of) => `${of('agent')} reacts with ${of('emoji')}`,
  'reaction.removed': (of) => `${of('agent')} takes ${of('emoji')} back`,
  'workspace.began': () => 'the workspace begins',
  'workspace.key-issued': () => 'the workspace gets a new key',
  'workspace.restored': () => 'the workspace is restored from a backup',
  'workspace.policy-set': (_, { by }) => `${by} changes the policy`,
  'workspace.raised': (of) => `the workspace has format ${of('format')} from here on`,
  'workspace.owned': (of) => `the workspace belongs to the machine ${of('machine')} now`,
  'machine.revoked': (of) => `the machine ${of('machine')} is removed`,
  'machine.admitted': (of) => `the machine ${of('machine')} is invited again`,
  'conversation.opened': (of, { by }) => `${by} opens ${placeText(of('conversation'))}`,
  'channel.created': (of, { by }) => `${by} makes ${of('channel')}`,
  'channel.removed': (of, { by }) => `${by} removes ${of('channel')}`,
  'channel.joined': (of) => `${of('agent')} joins ${placeText(of('channel'))}`,
  'channel.left': (of) => `${of('agent')} leaves ${placeText(of('channel'))}`,
  'agent.registered': (_, { fact }, read) => `${read(fact.agent, 'name')} comes for the first time`,
  'agent.updated': (_, { fact }, read) => `${read(fact.agent, 'name')} changes its profile`,
  'agent.token-issued': (of) => `${of('agent')} gets a new token`,
  'agent.tokens-revoked': (of, { by }) => `${of('agent')} loses its tokens: revoked by ${by}`,
  'agent.retired': (of, { by }) => `${of('agent')} is retired by ${by}`,
  'agent.homed': (of) => `${of('agent')} belongs to the machine ${of('machine')} now`,
  'agent.briefed': (of) => `${of('agent')} is briefed (${of('after')}): ${of('text')}`,
  'action.registered': (of) => `${of('provider')} offers ${of('name')}`,
  'action.withdrawn': (of) => `${of('provider')} no longer offers ${of('name')}`,
  'action.invoked': (of) => `${of('caller')} calls ${of('action')} with ${of('inputBytes')} bytes`,
  'action.completed': (of, { fact }) =>
    `${of('action')} for ${of('caller')}: ${fact.ok ? 'done' : of('code')} in ${of('durationMs')} ms`,
  'worker.wished': (of, { by, fact }) =>
    fact.again === undefined
      ? `${of('parent')} hires ${of('worker')} (${of('cli')})`
      : `${by} gives ${of('worker')} its task again (${of('cli')})`,
  'worker.wish-changed': (of, { by, fact }, read) =>
    `${by} ${wishVerbs.get(fact.wish) ?? of('wish')} ${of('worker')}${reasonSuffix(fact, read)}`,
  'worker.interrupted': (of, { by, fact }, read) => `${by} interrupts ${of('worker')}${reasonSuffix(fact, read)}`,
  'worker.worktree-removed': (of) => `the worktree of ${of('worker')} is removed`,
  'worker.changed': (of, { fact }, read) =>
    fact.conversation !== undefined
      ? `${of('worker')} is in its conversation ${of('conversation')}`
      : `${of('worker')} ${fact.status === 'exited' ? 'has' : 'is'} ${of('status')}${reasonSuffix(fact, read)}`,
  'run.started': (of, { fact }) =>
    `${of('agent')} has a contract of ${of('parent')}${fact.again === undefined ? '' : ` again, after ${of('again')}`} (${of('harness')})`,
  'run.completed': (of, { fact }) =>
    `${of('agent')} completes: ${of('summary')}${fact.payloadBytes === undefined ? '' : `, with ${of('payloadBytes')} bytes of payload`}`,
  'run.stopped': (of, { fact }, read) => `the run of ${of('agent')} stops${reasonSuffix(fact, read)}`,
  'approval.opened': (of, { fact }) => {
    const asked = { tool: textIn(fact.tool), input: textIn(fact.input) }
    return `${of('agent')} ${permissionPhrase(asked).wants}: ${of('input')} (${of('id')})`
  },
  'approval.closed': (of, { by, fact }) => {
    const what = fact.kind === undefined ? '' : ` ${of('kind')}`
    const whose = `${of('id')} of ${of('agent')}`
    if (fact.how !== 'answered') return `${whose} is closed: ${of('how')}${what}`
    const under = fact.surface === 'delegation' ? `as delegated (${of('delegation')})` : `(${of('surface')})`
    const who = fact.asker === undefined ? by : of('asker')
    return `${who} answers ${whose}:${what}${fact.words === undefined ? '' : `, "${of('words')}"`} ${under}`
  },
  'need.dismissed': (of) => `${of('agent')} dismisses ${of('key')}`,
  'notice.asked': (of) => `${of('asker')} asks to be told of ${of('agent')}: ${of('when')}`,
  'notice.ended': (of) => `${of('asker')} no longer waits to be told of ${of('agent')} (${of('when')}): ${of('why')}`,
  'spend.noted': (of, { fact }) =>
    `${of('agent')} uses ${spentText(fact)}${fact.model === undefined ? '' : ` of ${of('model')}`}`,
  'claim.made': (of) => `${of('agent')} claims ${of('file')}`,
  'claim.renewed': (of) => `${of('agent')} goes on editing ${of('path')}`,
  'claim.ended': (of) => `the claim of ${of('agent')} on ${of('file')} ends: ${of('why')}`,
  'claim.denied': (of, { fact }, read) => `${of('agent')} is denied ${claimConflictText(fact, read)}`,
  'claim.passed': (of, { fact }, read) => `${of('agent')} goes ahead with ${claimConflictText(fact, read)}`,
}

const wishVerbs: ReadonlyMap<string, string> = new Map([
  ['run', 'resumes'],
  ['paused', 'pauses'],
  ['gone', 'releases'],
])

/** The tokens and cost of one turn of a model. The fields are checked, because an event from a recording may hold anything. */
function spentText({ tokens, usd }: EventOf<'spend.noted'>['fact']): string {
  const { input, output, cached } = Object(tokens) as Record<string, unknown>
  if (typeof input !== 'number' || typeof output !== 'number') return '?'
  const cost = typeof usd === 'number' ? { usd } : {}
  return spendText({ tokens: { input, output, cached: Number(cached) }, ...cost })
}

function claimConflictText(
  { what, claims, count }: EventOf<'claim.denied' | 'claim.passed'>['fact'],
  read: ReadField,
): string {
  const [first] = [claims].flat()
  const more = typeof count === 'number' && count > 1 ? ` and ${count - 1} more` : ''
  return `${what === 'git' ? 'a git command' : 'an edit'}: ${read(first, 'holder')} has ${read(first, 'file')}${more}`
}

const reasonSuffix = (fact: { reason?: string }, read: ReadField): string =>
  fact.reason === undefined ? '' : `: ${read(fact, 'reason')}`

const placeText = (place: string): string => (place === '*' ? 'the broadcast' : place)

/** Returns the value if it is a text, else an empty text: a field in a recording may hold anything. */
const textIn = (value: unknown): string => (typeof value === 'string' ? value : '')
