// Delivers messages into one session of Claude Code by the session's own socket. Writing to the socket does not mean that the model has the
// message: it counts as offered once the transcript shows it. A message that the session holds or refuses by a setting of its own is reported, and
// does not count as offered.

import type { HeldMail } from '../../broker/waking/own-session-runtime.ts'
import { type ClaudeInbox, type DeliveryOutcome, newLetterId } from './inbox.ts'
import type { ClaudeSession } from './registry.ts'
import { ClaudeTranscript } from './transcript.ts'

/** Pause after a session refused or held a message: its person may change that setting at any time, but rarely does. */
const refusedMs = 10 * 60_000
/** Pause after a message that did not arrive. */
const failedMs = 30_000
/** Maximum time in which an idle session shows no sign of a message: one that takes it shows so at once. */
const takenMs = 15_000

const heldNote = 'held until its person lets it in'
const notLetInNote = 'its person did not let it in'
const silentNote = 'its session does not take them'
const refusedNote = 'refused by a setting of its session'

export interface Mail extends HeldMail {
  /** The sender's name, and the text as the model is shown it. */
  name: string
  text: string
}

interface Sent {
  id: string
  mail: Mail
  sentAt: number
  /** The message waits in the session for the end of the turn, or for its person. */
  isQueued: boolean
  isHeld: boolean
}

export interface ClaudeSessionDeliveryOptions {
  home: string
  inbox: ClaudeInbox
  /** Called when the session may have begun or ceased to accept messages. */
  onChange(): void
  onTrouble(error: Error): void
}

export class ClaudeSessionDelivery {
  readonly #options: ClaudeSessionDeliveryOptions
  #session: ClaudeSession
  #transcripts: ClaudeTranscript[] = []
  #sent: Sent | undefined
  #closed: { until: number; note?: string } | undefined
  #isFirst = true
  #holds = false

  constructor(session: ClaudeSession, options: ClaudeSessionDeliveryOptions) {
    this.#options = options
    this.#session = session
  }

  /** Whether a message may be sent now. Never while a dialog is shown: the message could push the question off the screen. */
  get isOpen(): boolean {
    const { doing } = this.#session
    return !this.#sent && !this.#isShut && (doing?.state === 'idle' || doing?.state === 'busy')
  }

  get isWaiting(): boolean {
    return this.#sent !== undefined
  }

  /** The session asks its person about each message: it runs without asking for its steps, or a setting of it says so. */
  get holds(): boolean {
    return this.#holds || this.#session.isUnasked
  }

  /** The address to which the session's model replies. */
  get address(): string {
    return `uds:${this.#options.inbox.path}`
  }

  /** The reason why the session does not take messages now. */
  get note(): string | undefined {
    return this.#sent?.isHeld ? heldNote : this.#isShut ? this.#closed?.note : undefined
  }

  /** Nothing was sent from here yet: a message that waits now may be an earlier daemon's. */
  get isFirst(): boolean {
    return this.#isFirst
  }

  /** Milliseconds until the session may be sent messages again; undefined where it may be now. */
  get shutMs(): number | undefined {
    const restMs = (this.#closed?.until ?? 0) - performance.now()
    return restMs > 0 && Number.isFinite(restMs) ? restMs : undefined
  }

  get #isShut(): boolean {
    return performance.now() < (this.#closed?.until ?? 0)
  }

  /** Takes over a changed record of the session. */
  update(session: ClaudeSession): void {
    const { sessionId } = this.#session
    this.#session = session
    // After `/clear` the session goes on as another conversation, and keeps the message that waited.
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

  onOutcome(id: string, outcome: DeliveryOutcome): void {
    if (this.#sent?.id !== id) return
    if (outcome === 'held') this.#sent.isHeld = this.#holds = true
    else if (outcome === 'released') this.#sent.isHeld = false
    else if (outcome === 'dropped') this.#giveBack({ until: performance.now() + failedMs })
    else
      this.#giveBack({ until: performance.now() + refusedMs, note: outcome === 'refused' ? refusedNote : notLetInNote })
    this.#options.onChange()
  }

  /** Finds out from the transcripts whether the model has the message by now. */
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

  /** The session is gone: a message that its model was not given is delivered by another path. */
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
