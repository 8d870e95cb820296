// One lasting connection to a workspace, made of links (single connections) that come and go: reconnects, sends unanswered calls again under their ids, and
// sets up watches again. The calls themselves, and the list of shown messages, are in client.ts.

import { type Deferred, deferred } from '../deferred.ts'
import { ConnectionError, RelayError } from '../errors.ts'
import type { ClientLimits } from '../limits.ts'
import type { Closing, Connector, Link } from '../link.ts'
import type { Hello, Welcome } from '../protocol/frames.ts'
import type { Ids } from '../protocol/ids.ts'
import type { CallName, InputOf, OutputOf, WatchName } from '../protocol/operations.ts'
import { timerMs } from '../timer.ts'
import { type Follower, isConnectionLoss, ReconnectingWatches } from './reconnecting-watches.ts'

/**
 * The phases of a connection, and how one follows another:
 * idle → opening → up, or idle again (the first attempt failed: the client makes no further attempts on its own)
 * up → away → up, or idle (the daemon refuses the client, or an error that another attempt cannot heal)
 * any → ended
 */
type Phase = 'idle' | 'opening' | 'up' | 'away' | 'ended'

export interface ReconnectingOptions {
  connect: Connector
  hello: Hello
  ids: Ids
  limits: ClientLimits
  onUp(welcome: Welcome): void
  onDown(closing: Closing): void
  /** Called when the daemon's WELCOME names the agent differently than the HELLO of this client. */
  onRenamed(renamed: { asked: string; name: string }): void
  /** Called when a reconnect failed in a way that another attempt cannot heal. If the first attempt to connect fails, the promise of `open` rejects instead. */
  onRefused(error: RelayError): void
}

interface PendingCall extends Deferred<unknown> {
  op: CallName
  /** Makes the input of the call. Called for each attempt, because a timeout in the input must shrink with the time that has passed. */
  input(): unknown
  id: string
  tries: number
}

export class ReconnectingLink {
  readonly #options: ReconnectingOptions
  #hello: Hello
  #phase: Phase = 'idle'
  #link?: Link
  #welcome?: Welcome
  /** Unanswered calls, in the order in which they were made and in which they will be sent again. */
  readonly #pendingCalls = new Map<string, PendingCall>()
  readonly #watches: ReconnectingWatches
  #firstWelcome?: Deferred<Welcome>
  #attempts = 0
  #backoffTimer?: ReturnType<typeof setTimeout>
  #absenceTimer?: ReturnType<typeof setTimeout>
  #isAwayTooLong = false

  constructor(options: ReconnectingOptions) {
    this.#options = options
    this.#hello = options.hello
    this.#watches = new ReconnectingWatches(options.ids, options.limits.backoffMsMin)
  }

  get phase(): Phase {
    return this.#phase
  }

  /** The HELLO frame that the next connection will send. */
  get hello(): Readonly<Hello> {
    return this.#hello
  }

  /** The latest WELCOME frame from the daemon, kept while the daemon is away. */
  get welcome(): Welcome | undefined {
    return this.#welcome
  }

  open(): Promise<Welcome> {
    if (this.#phase === 'ended') return Promise.reject(ended())
    if (this.#phase === 'up' && this.#welcome) return Promise.resolve(this.#welcome)
    if (this.#isAwayTooLong) return Promise.reject(this.#tooLong())
    this.#firstWelcome ??= quietDeferred()
    if (this.#phase === 'idle') {
      this.#phase = 'opening'
      void this.#attempt()
    }
    return this.#firstWelcome.promise
  }

  call<O extends CallName>(op: O, input: () => InputOf<O>, id: string, signal?: AbortSignal): Promise<OutputOf<O>> {
    if (signal?.aborted) return Promise.reject(signal.reason)
    if (this.#phase === 'ended') return Promise.reject(ended())
    if (this.#isAwayTooLong) return Promise.reject(this.#tooLong())
    const flying = this.#pendingCalls.get(id)
    if (flying) return flying.promise as Promise<OutputOf<O>>
    const flight: PendingCall = { op, input, id, tries: 0, ...quietDeferred<unknown>() }
    this.#pendingCalls.set(id, flight)
    if (signal) this.#endOnAbort(signal, flight)
    if (this.#link) this.#send(flight, this.#link)
    // A failure to connect needs no handling here: it rejects the promise of the call.
    else this.open().catch(() => {})
    return flight.promise as Promise<OutputOf<O>>
  }

  /** Sets a watch up at once, or as soon as there is a connection. The returned function ends the watch. */
  follow<O extends WatchName>(op: O, follower: Follower<OutputOf<O>>): () => void {
    return this.#watches.add(op, follower)
  }

  /** Sets the name and token for the next HELLO frame. */
  setIdentity(name: string, token: string | undefined): void {
    this.#hello = { ...this.#hello, name, token: token ?? this.#hello.token }
  }

  /** Ends the connection for good. Calls in flight end with a ConnectionError. */
  async end(): Promise<void> {
    if (this.#phase === 'ended') return
    this.#phase = 'ended'
    clearTimeout(this.#backoffTimer)
    clearTimeout(this.#absenceTimer)
    this.#watches.clear()
    this.#failAll(ended())
    await this.#link?.close()
  }

  async #attempt(): Promise<void> {
    let link: Link
    try {
      link = await this.#options.connect(this.#hello)
    } catch (error) {
      const known = error instanceof RelayError
      return this.#onAttemptFailed(known ? error : new ConnectionError(String(error), { retry: false, cause: error }))
    }
    this.#onLinkOpened(link)
  }

  #onLinkOpened(link: Link): void {
    const welcome = link.welcome
    if (this.#phase === 'ended') {
      void link.close()
      return
    }
    if (this.#welcome && this.#welcome.workspaceId !== welcome.workspaceId) {
      void link.close()
      // Does not go on with another workspace: the calls, token and entry numbers of this client belong to the former one.
      this.#onAttemptFailed(new ConnectionError('a different workspace now answers at this address', { retry: false }))
      return
    }
    clearTimeout(this.#absenceTimer)
    this.#isAwayTooLong = false
    this.#attempts = 0
    this.#phase = 'up'
    this.#link = link
    this.#welcome = welcome
    // Each connection is a new session. Messages that the former session was handed, and that may not have arrived, come again: the daemon hands them out again
    // because that session ended.
    const asked = this.#hello.name
    if (welcome.agent) this.setIdentity(welcome.agent, welcome.token)
    void link.closed.then((closing) => this.#onLinkClosed(closing))
    this.#firstWelcome?.resolve(welcome)
    this.#firstWelcome = undefined
    for (const flight of [...this.#pendingCalls.values()]) this.#send(flight, link)
    this.#watches.setUpOn(link)
    if (asked !== undefined && welcome.agent !== undefined && welcome.agent !== asked)
      this.#options.onRenamed({ asked, name: welcome.agent })
    this.#options.onUp(welcome)
  }

  #onAttemptFailed(error: RelayError): void {
    if (this.#phase === 'ended') return
    const wasAway = this.#phase === 'away'
    if (wasAway && error.retry) {
      this.#tryLater()
      return
    }
    clearTimeout(this.#absenceTimer)
    this.#isAwayTooLong = false
    this.#phase = 'idle'
    this.#failAll(error)
    if (wasAway) this.#options.onRefused(error)
  }

  #onLinkClosed(closing: Closing): void {
    this.#link = undefined
    this.#watches.forgetConnection()
    if (this.#phase !== 'ended') {
      this.#phase = 'away'
      this.#absenceTimer = setTimeout(() => this.#failAfterLongAbsence(), timerMs(this.#options.limits.callAwayMs))
      this.#tryLater()
    }
    this.#options.onDown(closing)
  }

  /**
   * Tries to reconnect after half to all of the waiting time, at random, so that a thousand clients of a restarted daemon do not all connect in the same
   * millisecond.
   */
  #tryLater(): void {
    const { backoffMsMin, backoffMsMax } = this.#options.limits
    const full = Math.min(backoffMsMax, backoffMsMin * 2 ** Math.min(this.#attempts++, 30))
    this.#backoffTimer = setTimeout(() => void this.#attempt(), timerMs(full * (0.5 + Math.random() / 2)))
  }

  #failAfterLongAbsence(): void {
    this.#isAwayTooLong = true
    this.#failAll(this.#tooLong())
  }

  #tooLong(): ConnectionError {
    const seconds = this.#options.limits.callAwayMs / 1000
    return new ConnectionError(`the relay daemon has been away for ${seconds} s. Start with: agent-relay daemon start`)
  }

  #failAll(error: RelayError): void {
    this.#firstWelcome?.reject(error)
    this.#firstWelcome = undefined
    const flights = [...this.#pendingCalls.values()]
    this.#pendingCalls.clear()
    for (const flight of flights) flight.reject(error)
  }

  #send(flight: PendingCall, link: Link): void {
    flight.tries++
    if (flight.tries > this.#options.limits.callTriesMax) {
      this.#finishCall(flight)
      flight.reject(new ConnectionError(`${flight.op} was lost ${flight.tries - 1} times with its link`))
      return
    }
    link.call(flight.op, flight.input() as InputOf<CallName>, flight.id).then(
      (output) => {
        this.#finishCall(flight)
        flight.resolve(output)
      },
      (error) => {
        // A call that was lost together with its connection stays in `#pendingCalls`, and is sent again over the next connection.
        if (isConnectionLoss(error)) return
        this.#finishCall(flight)
        flight.reject(error)
      },
    )
  }

  #finishCall(flight: PendingCall): void {
    if (this.#pendingCalls.get(flight.id) === flight) this.#pendingCalls.delete(flight.id)
  }

  #endOnAbort(signal: AbortSignal, flight: PendingCall): void {
    const abort = (): void => {
      this.#finishCall(flight)
      // Asks the daemon to end the call too, in case the call waits for a reply.
      this.#link?.unwatch(flight.id)
      flight.reject(signal.reason)
    }
    signal.addEventListener('abort', abort, { once: true })
    const done = (): void => signal.removeEventListener('abort', abort)
    flight.promise.then(done, done)
  }
}

function ended(): ConnectionError {
  return new ConnectionError('this client has disconnected', { retry: false })
}

/** A promise whose rejection nobody has to await: it must not end the process. */
function quietDeferred<T>(): Deferred<T> {
  const made = deferred<T>()
  made.promise.catch(() => {})
  return made
}
