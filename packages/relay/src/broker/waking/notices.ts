// Notices that agents ask for, such as that another agent is idle: checks whether the awaited thing has happened, and submits the command that tells the asker.
// core/notices.ts decides about both. Each machine serves the askers that live on it.

import type { Entry, OutputOf, ParsedInputOf } from '@agent-relay/sdk/protocol'
import { homeOnOtherMachine } from '../../core/homes.ts'
import { noticeNewsText, type ObservedState } from '../../core/notices.ts'
import type { NoticeRow } from '../../core/view.ts'
import type { Alarm } from '../../machine/clock.ts'
import { actorOf, type CallContext, type WorkspaceParts } from '../call.ts'
import { submitByDaemon, submitCall } from '../commands.ts'

/** Interval of checks while somebody waits for a notice: no event tells that an agent has become idle. */
const noticeCheckMs = 1_000

type NoticeParts = Pick<WorkspaceParts, 'store' | 'engine' | 'hub' | 'sessions' | 'clock' | 'ids' | 'world'> & {
  seen(agent: string): ObservedState
}

export class Notices {
  readonly #parts: NoticeParts
  /** The notices that askers on this machine still wait for. */
  #awaited: NoticeRow[] = []
  readonly #telling = new Set<string>()
  #alarm: Alarm | undefined
  #isClosed = false

  constructor(parts: NoticeParts) {
    this.#parts = parts
    parts.hub.listen((entries) => this.#onEntries(entries))
    parts.sessions.onChange((agent) => this.#check((row) => row.agent === agent))
  }

  /** Loads the notices that are still awaited, also those that were asked of an earlier daemon. */
  load(): void {
    const { store, sessions } = this.#parts
    if (this.#isClosed) return
    this.#awaited = store.view.notices.all().filter(({ asker }) => !homeOnOtherMachine(store.view, sessions, asker))
    this.#check()
    this.#scheduleCheck()
  }

  close(): void {
    this.#isClosed = true
    this.#awaited = []
    this.#alarm?.cancel()
  }

  async ask(asking: CallContext, input: ParsedInputOf<'notice.ask'>): Promise<OutputOf<'notice.ask'>> {
    const asked = { ...input, seen: this.#parts.seen(input.agent) }
    const by = actorOf(asking)
    return (await submitCall(this.#parts, { ...asking, by }, 'notice.ask', asked)).outcome as OutputOf<'notice.ask'>
  }

  list(asker: string): OutputOf<'notice.list'> {
    const own = this.#parts.store.view.notices.of(asker)
    const shown = ({ agent, when, message, at }: NoticeRow) => ({
      ...{ agent, when, message },
      since: new Date(at).toISOString(),
    })
    return { notices: own.map(shown) }
  }

  #onEntries(entries: readonly Entry[]): void {
    for (const fact of entries.flatMap(({ facts }) => facts)) {
      if (fact.type.startsWith('notice.') || fact.type === 'agent.homed') return this.load()
      if (fact.type === 'message.created') this.#check(({ agent, when }) => when === 'answered' && agent === fact.from)
    }
  }

  #check(isMeant: (row: NoticeRow) => boolean = () => true): void {
    const { store, world, clock, seen } = this.#parts
    for (const row of this.#awaited.filter(isMeant)) {
      const sight = seen(row.agent)
      if (noticeNewsText(store.view, { at: clock.now(), world }, row, sight) !== undefined) void this.#tell(row, sight)
    }
  }

  /** Tells the asker that the awaited thing has happened; a failure is tried again at the next check. */
  async #tell({ asker, agent, when, message }: NoticeRow, seen: ObservedState): Promise<void> {
    const key = JSON.stringify([asker, agent, when, message])
    if (this.#telling.has(key)) return
    this.#telling.add(key)
    const input = { asker, agent, when, message, seen }
    await submitByDaemon(this.#parts, 'notice.tell', input).catch(() => undefined)
    this.#telling.delete(key)
  }

  #scheduleCheck(): void {
    if (this.#alarm || this.#awaited.length === 0) return
    this.#alarm = this.#parts.clock.after(noticeCheckMs, () => {
      this.#alarm = undefined
      this.#check()
      this.#scheduleCheck()
    })
  }
}
