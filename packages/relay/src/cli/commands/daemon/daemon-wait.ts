// Decides how long a command waits for a daemon that runs and does not answer, because it is starting or stopping, and what the command prints meanwhile.

import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { RelayError } from '@agent-relay/sdk'
import { dataDir, type Env } from '@agent-relay/sdk/internal/discover'
import { waitLimitMs, waitLimits } from '@agent-relay/sdk/internal/waits'
import { HooksFolder } from '../../../machine/hooks-folder.ts'
import { daemonPollMs } from '../../control-socket.ts'
import { ageText } from '../../text.ts'
import { logPath } from './log-file.ts'

/** After this time in ms, the command prints what it is waiting for. */
export const waitNoticeMs = 10 * waitLimits.ownStart.usualMs

/** The daemon that this command has started. `code` is its exit code, after it has ended. */
interface StartedDaemon {
  readonly pid?: number
  readonly code?: number
}

export class DaemonWait {
  readonly #env: Env
  readonly #say: (text: string) => void
  readonly #tellMs: number
  readonly #otherMs: number
  readonly #from = performance.now()
  #said = ''

  /** `limits` are in ms; tests pass shorter ones. */
  constructor(
    env: Env,
    say: (text: string) => void,
    limits = { tellMs: waitNoticeMs, otherMs: waitLimitMs('otherStart') },
  ) {
    this.#env = env
    this.#say = say
    this.#tellMs = limits.tellMs
    this.#otherMs = limits.otherMs
  }

  /**
   * Waits a moment. A long wait is explained, and one that is too long throws. `own`: the daemon that this command has started. Without it, or after it has
   * ended, the text is about another process.
   */
  async wait(own?: StartedDaemon): Promise<void> {
    const ms = performance.now() - this.#from
    if (ms > this.#tellMs) this.#tell(own && own.code === undefined ? own : undefined, ms)
    await sleep(daemonPollMs)
  }

  #tell(own: StartedDaemon | undefined, ms: number): void {
    if (ms > waitLimitMs('ownStart'))
      throw own ? neverAnsweredError(this.#env, own.pid, ms) : silentDaemonError(this.#env)
    if (!own && ms > this.#otherMs && announcedDaemon(this.#env)) throw silentDaemonError(this.#env)
    const text = own ? stillStartingText(this.#env, own.pid) : otherStartText(this.#env)
    if (text !== this.#said) this.#say(text)
    this.#said = text
  }
}

/**
 * Returns the daemon that has announced itself in the data directory. If it does not answer, it was halted or hangs: a daemon that is starting has not
 * announced itself yet, and one that is stopping has withdrawn its announcement.
 */
function announcedDaemon(env: Env) {
  return new HooksFolder(join(dataDir(env), 'hooks')).runningDaemon()
}

/** Returns the words for the other process, with its pid and start if known. */
function otherProcessText(env: Env): string {
  const daemon = announcedDaemon(env)
  if (!daemon) return 'Another process'
  const age = ageText(daemon.since)
  return `Another process (pid ${daemon.pid}, ${age === 'now' ? 'just started' : `started ${age} ago`})`
}

function silentDaemonError(env: Env): RelayError {
  const text = `${otherProcessText(env)} holds ${dataDir(env)} but does not answer. Is it stopping or stopped? See: ${logPath(dataDir(env))}`
  return new RelayError(text, { code: 'daemon.stopping' })
}

function otherStartText(env: Env): string {
  return `Another process starts or stops a daemon in ${dataDir(env)}: waiting for it. Ctrl-C ends the wait. Its log: ${logPath(dataDir(env))}`
}

function stillStartingText(env: Env, pid: number | undefined): string {
  const why = 'After an update it first migrates its databases, which takes a while if they are large.'
  return `The daemon (pid ${pid}) is still starting. ${why} Its log: ${logPath(dataDir(env))}`
}

function neverAnsweredError(env: Env, pid: number | undefined, ms: number): RelayError {
  const text = `The daemon (pid ${pid}) was started ${Math.round(ms / 60_000)} min ago, still runs and has not answered. See: ${logPath(dataDir(env))}`
  return new RelayError(text, { code: 'daemon.stopping' })
}
