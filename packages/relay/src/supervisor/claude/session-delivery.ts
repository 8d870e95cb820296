// Delivers messages to one session of Claude Code over the session's own socket. Writing to the socket does not mean that the model has the message:
// the message counts as offered once the transcript shows it. A message that the session holds or refuses because of its own settings does not count
// as offered, and the reason is reported.

import type { HeldMail } from '../../broker/waking/user-session-runtime.ts'
import { type ClaudeInbox, type DeliveryOutcome, newTextId } from './inbox.ts'
import type { ClaudeSession } from './registry.ts'
import { ClaudeTranscript } from './transcript.ts'

/** Pause after a session has not taken a message because of a setting or of its person's answer. Either may change at any time, but rarely does. */
const refusedMs = 10 * 60_000
/** Pause after a message that could not be sent, or that the session has dropped. */
const failedMs = 30_000
/**
 * Time after which a message counts as lost if the session is idle and its transcript does not show the message: a session that takes a message shows
 * that at once.
 */
const takenMs = 15_000

const heldNote = 'its session holds the message until its person accepts it'
const notLetInNote = 'its person did not accept the message'
const silentNote = 'its session does not take messages'
const refusedNote = 'a setting of its session refuses messages'

export interface ClaudeMail extends HeldMail {
  /** The sender's name; below it, the text that the model is shown. */
  name: string
  text: string
}

interface SentMail {
  id: string
  mail: ClaudeMail
  sentAt: number
  /** Whether the message waits in the session, for the end of the turn or for the session's person. */
  isQueued: boolean
  isHeld: boolean
}

export interface ClaudeSessionDeliveryOptions {
  home: string
  inbox: ClaudeInbox
  /** Called when the session may have started or stopped accepting messages. */
  onChange(): void
  onTrouble(error: Error): void
}

export class ClaudeSessionDelivery {
  readonly #options: ClaudeSessionDeliveryOptions
  #session: ClaudeSession
  #transcripts: ClaudeTranscript[] = []
  #sent: SentMail | undefined
  #pause: { until: number; note?: string } | undefined
  #hasSentNothing = true
  #asksPerson = false

  constructor(session: ClaudeSession, options: ClaudeSessionDeliveryOptions) {
    this.#options = options
    this.#session = session
  }

  /** Whether a message may be sent now. While the session shows a dialog it may not: the message could push the dialog's question off the screen. */
  get canTakeText(): boolean {
    const { doing } = this.#session
    return !this.#sent && !this.#isPaused && (doing?.state === 'idle' || doing?.state === 'busy')
  }

  get isMessagePending(): boolean {
    return this.#sent !== undefined
  }

  /** Whether the session asks its person about each message, because it skips permission prompts or has such a setting. */
  get asksPerson(): boolean {
    return this.#asksPerson || this.#session.skipsPermissions
  }

  /** The address to which the session's model replies. */
  get replyAddress(): string {
    return `uds:${this.#options.inbox.path}`
  }

  /** The reason why the session does not take messages now. */
  get note(): string | undefined {
    return this.#sent?.isHeld ? heldNote : this.#isPaused ? this.#pause?.note : undefined
  }

  /** Whether this daemon has not sent anything to the session yet: then an earlier daemon may have sent the waiting message already. */
  get hasSentNothing(): boolean {
    return this.#hasSentNothing
  }

  /** Milliseconds until messages may be sent to the session again; undefined if the session is not paused. */
  get pauseMs(): number | undefined {
    const restMs = (this.#pause?.until ?? 0) - performance.now()
    return restMs > 0 && Number.isFinite(restMs) ? restMs : undefined
  }

  get #isPaused(): boolean {
    return performance.now() < (this.#pause?.until ?? 0)
  }

  /** Replaces what is known of the session by its changed record. */
  update(session: ClaudeSession): void {
    const { sessionId } = this.#session
    this.#session = session
    // After `/clear`, the session goes on as another conversation with another transcript, and keeps the message that waited.
    if (this.#sent && sessionId !== session.sessionId)
      this.#transcripts.push(new ClaudeTranscript(this.#options.home, session.sessionId))
    this.look()
  }

  async give(mail: ClaudeMail): Promise<void> {
    const { home, inbox } = this.#options
    const marks = mail.messages.map(({ id }) => id)
    const transcript = new ClaudeTranscript(home, this.#session.sessionId)
    const known = this.#hasSentNothing ? transcript.findEarlier(marks) : transcript.skipToEnd()
    this.#hasSentNothing = false
    if (known === 'given') return mail.markOffered('peer')
    const id = newTextId()
    this.#transcripts = [transcript]
    this.#sent = { id, mail, sentAt: performance.now(), isQueued: known === 'queued', isHeld: false }
    if (known === 'queued') return
    try {
      await inbox.send(this.#session, { id, name: mail.name, text: mail.text })
    } catch {
      this.#releaseMail({ until: performance.now() + failedMs })
    }
  }

  onOutcome(id: string, outcome: DeliveryOutcome): void {
    if (this.#sent?.id !== id) return
    if (outcome === 'held') this.#sent.isHeld = this.#asksPerson = true
    else if (outcome === 'released') this.#sent.isHeld = false
    else if (outcome === 'dropped') this.#releaseMail({ until: performance.now() + failedMs })
    else
      this.#releaseMail({
        until: performance.now() + refusedMs,
        note: outcome === 'refused' ? refusedNote : notLetInNote,
      })
    this.#options.onChange()
  }

  /** Looks into the transcripts to find out whether the model has the sent message by now. */
  look(): void {
    const sent = this.#sent
    if (!sent) return
    const marks = sent.mail.messages.map(({ id }) => id)
    for (const transcript of this.#transcripts) {
      const { isGiven, isQueued } = transcript.search(sent.id, marks)
      if (isGiven) return this.#onTaken(sent)
      sent.isQueued ||= isQueued
    }
    const isLost = !sent.isQueued && !sent.isHeld && performance.now() - sent.sentAt > takenMs
    if (isLost && this.#session.doing?.state === 'idle')
      this.#releaseMail({ until: performance.now() + refusedMs, note: silentNote })
  }

  /** Releases a message that the model was not given, because the session has ended: another path can deliver the message. */
  end(): void {
    this.look()
    this.#releaseMail({ until: Number.POSITIVE_INFINITY })
  }

  #onTaken({ mail }: SentMail): void {
    this.#sent = undefined
    const { onTrouble, onChange } = this.#options
    mail.markOffered('peer').then(onChange, onTrouble)
  }

  #releaseMail(closed: { until: number; note?: string }): void {
    this.#sent?.mail.release()
    this.#sent = undefined
    this.#pause = closed
  }
}
