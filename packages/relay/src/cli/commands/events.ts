// `tail` and `events`: follow and list the events of a workspace. With the workspace's key these are all events, otherwise those that the agent may see.

import type { RelayClient, RelayEvent } from '@agent-relay/sdk'
import { listEvents } from '@agent-relay/sdk/internal/client'
import { mainEventTypes, unknownTypesText } from '@agent-relay/sdk/internal/event-text'
import type { InputOf, OutputOf } from '@agent-relay/sdk/protocol'
import { limits } from '@agent-relay/sdk/wire'
import { readArchive } from '../archive.ts'
import {
  type CliCommand,
  type CliOption,
  type CliOptions,
  type CommandContext,
  CommandError,
  exitCodes,
  type OptionValues,
} from '../command.ts'
import { withClient } from '../connection.ts'
import { parseDurationMs } from '../duration.ts'
import { endingSignal } from '../ending.ts'
import { followOtherWorkspaces, followsAllWorkspaces, hereOption } from '../everywhere.ts'
import { announceDisconnects, followEvents, followForPerson } from '../feed.ts'
import { eventLine } from '../lines.ts'
import { limitOption } from '../options.ts'
import type { Printer } from '../print.ts'

const type = {
  flags: '--type <name>',
  text: 'only events of this type, e.g. message.created or channel.*',
  isList: true,
} satisfies CliOption

const all = {
  flags: '--all',
  text: 'on a terminal, also show minor events, such as deliveries and connections; other programs always get them',
} satisfies CliOption

/** Returns the event types to ask for. By default a person at a terminal gets only the main events, without internal ones such as deliveries. */
function typesFor({ type, all }: Pick<EventsOptions, 'type' | 'all'>, print: Printer): string[] | undefined {
  return type ?? (all || !print.isForPerson ? undefined : mainEventTypes())
}

const tailOptions = {
  since: { flags: '--since <when>', text: 'first all after this number, or since then: 10m, 2h, 1d, or a time' },
  type,
  here: hereOption,
  all,
} satisfies CliOptions

export const tail: CliCommand<typeof tailOptions> = {
  options: tailOptions,
  examples: [
    'agent-relay tail',
    'agent-relay tail --here --since 10m',
    'agent-relay tail --type message.created --json',
  ],
  run: runTail,
}

async function runTail(context: CommandContext<typeof tailOptions>): Promise<void> {
  const { options, print } = context
  warnOfUnknownTypes(print, options.type)
  const ending = endingSignal()
  await withClient(context, 'anyone', async ({ client, welcome }) => {
    announceDisconnects(client, print, ending)
    const { workspace } = welcome
    const types = typesFor(options, print)
    const since = options.since === undefined ? undefined : await numberSince(client, options.since)
    // With --since, one workspace is followed: numbers and times are looked up in its journal.
    const isAll = since === undefined && (await followsAllWorkspaces(context))
    if (!print.isJson) print.say(`Following ${isAll ? 'all workspaces' : workspace}; Ctrl-C ends.`)
    if (isAll) void followOtherWorkspaces(context, workspace, types, ending)
    // A person at a terminal gets as many events as they can read; piped output goes to a program, which gets all.
    if (print.isForPerson && since === undefined)
      return followForPerson(client, { types }, print, ending, isAll ? workspace : undefined)
    await followEvents(client, { since, types }, (event) => show(print, event, false), ending)
  })
}

const eventsOptions = {
  since: {
    flags: '--since <when>',
    text: 'the first events after this number, or since then: 10m, 2h, 1d, or a time as in 2026-01-31T09:00',
  },
  before: {
    flags: '--before <n>',
    text: 'the newest events before this number',
    number: [1, Number.MAX_SAFE_INTEGER],
  },
  type,
  limit: { ...limitOption, text: 'show at most this many (100)' },
  all,
  archive: { flags: '--archive', text: 'show pruned events (needs the workspace key)' },
  follow: { flags: '--follow', text: 'then keep showing new events, as tail does, with their numbers', isHidden: true },
} satisfies CliOptions
type EventsOptions = OptionValues<typeof eventsOptions>

export const events: CliCommand<typeof eventsOptions> = {
  options: eventsOptions,
  examples: [
    'agent-relay events --limit 20',
    'agent-relay events --type "channel.*" --since 10m',
    'agent-relay events --archive --since 0',
  ],
  run: runEvents,
}

async function runEvents(context: CommandContext<typeof eventsOptions>): Promise<void> {
  const { options, print } = context
  warnOfUnknownTypes(print, options.type)
  if (options.archive) return showArchived(context)
  const ending = options.follow ? endingSignal() : undefined
  await withClient(context, 'anyone', async ({ client }) => {
    const { before } = options
    const types = typesFor(options, print)
    const since = options.since === undefined ? undefined : await numberSince(client, options.since)
    const limit = options.limit ?? limits.eventsPageDefault
    if (ending) {
      announceDisconnects(client, print, ending)
      const from = since ?? (await showNewest(client, { types, limit }, print))
      return followEvents(client, { since: from, types }, (event) => show(print, event, true), ending)
    }
    const page = cutPage(limit, await listEvents(client, { since, before, types, limit }), since !== undefined)
    if (print.isJson) return void (await print.json(page))
    for (const event of page.events) void show(print, event, true)
    if (page.events.length === 0) print.say('No events.')
    if (page.pruned !== undefined)
      print.say(
        `Finished events up to entry ${page.pruned} were pruned, and are not listed. To see them: agent-relay events --archive`,
      )
    if (types !== options.type)
      print.say('Minor events, such as deliveries, are left out. To see them: agent-relay events --all')
    const [filter, first] = [filterWords(options), page.events[0]?.seq]
    if (page.cut !== undefined)
      print.say(
        `All of ${first}: agent-relay events --since ${Number(first) - 1}${filterWords({ ...options, limit: limit + page.cut })}`,
      )
    if (page.earlier !== undefined) print.say(`Earlier ones: agent-relay events --before ${page.earlier}${filter}`)
    else if (since !== undefined && page.more) print.say(`To go on: agent-relay events --since ${page.next}${filter}`)
  })
}

/** Warns of event types that this version does not know. They are sent all the same: a newer daemon may know them. */
function warnOfUnknownTypes(print: Printer, types: readonly string[] | undefined): void {
  const strange = unknownTypesText(types)
  if (strange !== undefined) print.say(strange)
}

async function showArchived(context: CommandContext<typeof eventsOptions>): Promise<void> {
  const { options, print, env } = context
  const { since, before = Number.MAX_SAFE_INTEGER, limit = limits.eventsPageDefault } = options
  const types = typesFor(options, print)
  if (options.follow || (since !== undefined && !/^\d{1,15}$/.test(since)))
    throw new CommandError(
      'With --archive, give --since the number of an event, and leave out --follow.',
      exitCodes.usage,
    )
  await withClient(context, 'holder', async ({ welcome }) => {
    const isWanted = (event: RelayEvent) =>
      event.seq > Number(since ?? 0) &&
      event.seq < before &&
      (types ?? ['*']).some((each) => matchesType(each, event.type))
    const found = await readArchive(env, welcome.workspace, { limit, keepsOldest: since !== undefined, isWanted })
    if (print.isJson) return void (await print.json(found))
    for (const event of found.events) void show(print, event, true)
    if (found.events.length === 0) print.say('No such events in the archive.')
    if (found.more > 0) print.say(`${found.more} more: --limit, --since and --before show them.`)
  })
}

/** Whether an event type matches a pattern: `action.*` stands for all types that begin so, `*` for all types. */
function matchesType(pattern: string, type: string): boolean {
  return pattern.endsWith('*') ? type.startsWith(pattern.slice(0, -1)) : pattern === type
}

/** Returns the number of the last journal entry before `when`: a time, an age such as 10m, or the number itself. */
async function numberSince(client: RelayClient, when: string): Promise<number> {
  if (/^\d{1,15}$/.test(when)) return Number(when)
  const ms = parseDurationMs(when)
  const time = ms === undefined ? Date.parse(when) : Date.now() - ms
  if (Number.isNaN(time) || !/^\d/.test(when))
    throw new CommandError(
      `--since is "${when}": it must be the number of an event, 10m, 2h or 1d, or a time as in 2026-01-31T09:00`,
      exitCodes.usage,
    )
  // The times of entries rise with their numbers, so a binary search finds the entry.
  let [low, high] = [0, (await listEvents(client, { limit: 1 })).next]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const [next] = (await listEvents(client, { since: middle, limit: 1 })).events
    if (next === undefined || Date.parse(next.ts) >= time) high = middle
    else low = next.seq
  }
  return low
}

/** Prints the newest events. Returns the number of the entry from which to continue. */
async function showNewest(client: RelayClient, asked: InputOf<'event.list'>, print: Printer): Promise<number> {
  const page = await listEvents(client, asked)
  for (const event of cutPage(asked.limit as number, page, false).events) await show(print, event, true)
  return page.next
}

/** `cut`: number of events left out because a single entry has more events than `limit`. */
type ExactPage = OutputOf<'event.list'> & { cut?: number }

/**
 * Cuts the daemon's page to `limit` events. An entry may hold several events, and the daemon never divides an entry. If the limit lies within an entry, that
 * entry begins the next page, unless it alone fills this one.
 */
function cutPage(limit: number, page: OutputOf<'event.list'>, isUpward: boolean): ExactPage {
  const cut = page.events.length - limit
  if (cut <= 0) return page
  const events = isUpward ? page.events.slice(0, limit) : page.events.slice(-limit)
  const seq = (isUpward ? events.at(-1) : events[0])?.seq as number
  const isFilled = events.every((event) => event.seq === seq)
  const again = isFilled ? 0 : 1
  const earlier = seq + again
  const cursor = isUpward ? { next: seq - again, more: page.more || again > 0 } : earlier > 1 ? { earlier } : {}
  return { ...page, events, ...cursor, ...(isFilled ? { cut } : {}) }
}

/** Returns the options that repeat the present filter in the command for the next page. Types are quoted, since a shell would expand `*`. */
function filterWords({ type, limit, all }: EventsOptions): string {
  const types = `${(type ?? []).map((each) => ` --type "${each}"`).join('')}${all ? ' --all' : ''}`
  return limit === undefined ? types : `${types} --limit ${limit}`
}

function show(print: Printer, event: RelayEvent, isNumbered: boolean): Promise<boolean> {
  if (print.isJson) return print.json(event)
  return print.line(
    isNumbered ? `${String(event.seq).padStart(6)} ${eventLine(print, event)}` : eventLine(print, event),
  )
}
