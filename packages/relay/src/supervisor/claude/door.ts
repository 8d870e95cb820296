// The way of messages into one session of Claude Code, by the session's own socket. Writing to it says nothing of the model: a message is offered
// once the transcript shows that the model was given it. What the session holds or refuses by a setting of its own is told, and is not offered.

import type { HeldMail } from '../../broker/waking/own-session-runtime.ts'
import { type ClaudeInbox, type Fate, newLetterId } from './inbox.ts'
import type { ClaudeSession } from './registry.ts'
import { ClaudeTranscript } from './transcript.ts'

/** After a session that refused or held: its person may change that setting at any time, but rarely does. */
const refusedMs = 10 * 60_000
/** After a letter that did not arrive. */
const failedMs = 30_000
/** An idle session that has a letter shows so at once, and says what it does not take. */
const takenMs = 15_000

const heldNote = 'held until its person lets it in'
const notLetInNote = 'its person did not let it in'
const silentNote = 'its session does not take them'
const refusedNote = 'refused by a setting of its session'

export interface Mail extends HeldMail {
  /** As who it comes, and as it is shown to the model. */
  name: string
  text: string
}

interface Sent {
  id: string
  mail: Mail
  sentAt: number
  /** It waits in the session for the end of the turn, or for its person. */
  isQueued: boolean
  isHeld: boolean
}

export interface ClaudeDoorOptions {
  home: string
  inbox: ClaudeInbox
  /** Something may be given now, or no more. */
  onChange(): void
  onTrouble(error: Error): void
}

export class ClaudeDoor {
  readonly #options: ClaudeDoorOptions
  #session: ClaudeSession
  #transcripts: ClaudeTranscript[] = []
  #sent: Sent | undefined
  #closed: { until: number; note?: string } | undefined
  #isFirst = true
  #holds = false

  constructor(session: ClaudeSession, options: ClaudeDoorOptions) {
    this.#options = options
    this.#session = session
  }

  /** A letter may be sent now. Never before a dialog: it could push the question off the screen. */
  get isOpen(): boolean {
    const { doing } = this.#session
    return !this.#sent && !this.#isShut && (doing?.state === 'idle' || doing?.state === 'busy')
  }

  get isWaiting(): boolean {
    return this.#sent !== undefined
  }

  /** Its person is asked about each message: its steps are not, or a setting of it says so. */
  get holds(): boolean {
    return this.#holds || this.#session.isUnasked
  }

  /** Where its model answers to. */
  get address(): string {
    return `uds:${this.#options.inbox.path}`
  }

  /** Why messages do not get in. */
  get note(): string | undefined {
    return this.#sent?.isHeld ? heldNote : this.#isShut ? this.#closed?.note : undefined
  }

  /** Nothing was sent yet: an earlier daemon may have sent what waits now. */
  get isFirst(): boolean {
    return this.#isFirst
  }

  /** How long nothing is sent to it; undefined where something may be. */
  get shutMs(): number | undefined {
    const restMs = (this.#closed?.until ?? 0) - performance.now()
    return restMs > 0 && Number.isFinite(restMs) ? restMs : undefined
  }

  get #isShut(): boolean {
    return performance.now() < (this.#closed?.until ?? 0)
  }

  /** Its record says something else. */
  update(session: ClaudeSession): void {
    const { sessionId } = this.#session
    this.#session = session
    // After `/clear` it goes on as another conversation, with what waited.
    if (this.#sent && sessionId !== session.sessionId)
      this.#transcripts.push(new ClaudeTranscript(this.#options.home, session.sessionId))
    this.look()
  }

  async give(mail: Mail): Promise<void> {
    const { home, inbox } = this.#options
    const marks = mail.messages.map(({ id }) => id)
    const transcript = new ClaudeTranscript(home, this.#session.sessionId)
    const known = this.#isFirst ? transcript.knows(marks) : transcript.skip()
    this.#isFirst = false
    if (known === 'given') return mail.offered('peer')
    const id = newLetterId()
    this.#transcripts = [transcript]
    this.#sent = { id, mail, sentAt: performance.now(), isQueued: known === 'queued', isHeld: false }
    if (known === 'queued') return
    try {
      await inbox.send(this.#session, { id, name: mail.name, text: mail.text })
    } catch {
      this.#giveBack({ until: performance.now() + failedMs })
    }
  }

  onFate(id: string, fate: Fate): void {
    if (this.#sent?.id !== id) return
    if (fate === 'held') this.#sent.isHeld = this.#holds = true
    else if (fate === 'released') this.#sent.isHeld = false
    else if (fate === 'dropped') this.#giveBack({ until: performance.now() + failedMs })
    else this.#giveBack({ until: performance.now() + refusedMs, note: fate === 'refused' ? refusedNote : notLetInNote })
    this.#options.onChange()
  }

  /** Whether the model has it by now. */
  look(): void {
    const sent = this.#sent
    if (!sent) return
    const marks = sent.mail.messages.map(({ id }) => id)
    for (const transcript of this.#transcripts) {
      const { isGiven, isQueued } = transcript.look(sent.id, marks)
      if (isGiven) return this.#taken(sent)
      sent.isQueued ||= isQueued
    }
    const isLost = !sent.isQueued && !sent.isHeld && performance.now() - sent.sentAt > takenMs
    if (isLost && this.#session.doing?.state === 'idle')
      this.#giveBack({ until: performance.now() + refusedMs, note: silentNote })
  }

  /** The session is gone: what its model was not given goes another way. */
  end(): void {
    this.look()
    this.#giveBack({ until: Number.POSITIVE_INFINITY })
  }

  #taken({ mail }: Sent): void {
    this.#sent = undefined
    const { onTrouble, onChange } = this.#options
    mail.offered('peer').then(onChange, onTrouble)
  }

  #giveBack(closed: { until: number; note?: string }): void {
    this.#sent?.mail.release()
    this.#sent = undefined
    this.#closed = closed
  }
}
