// Decides how long a command waits for a daemon that runs and does not answer, because it starts or stops, and what it prints meanwhile.

import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { RelayError } from '@agent-relay/sdk'
import { dataDir, type Env } from '@agent-relay/sdk/internal/discover'
import { waitLimitMs, waitLimits } from '@agent-relay/sdk/internal/waits'
import { HooksFolder } from '../../../machine/hooks-folder.ts'
import { daemonPollMs } from '../../control-socket.ts'
import { ageText } from '../../text.ts'
import { logPath } from './log-file.ts'

/** A wait that lasts this long is explained. */
export const explainAfterMs = 10 * waitLimits.ownStart.usualMs

/** The daemon that this command has started; `code` is its exit code, once it has ended. */
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

  /** Tests pass shorter limits. */
  constructor(
    env: Env,
    say: (text: string) => void,
    limits = { tellMs: explainAfterMs, otherMs: waitLimitMs('otherStart') },
  ) {
    this.#env = env
    this.#say = say
    this.#tellMs = limits.tellMs
    this.#otherMs = limits.otherMs
  }

  /** Waits a moment. Without an `own` process, or once that process has lost the race for the lock, the wait is for another process. */
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
 * The daemon that has announced itself and does not answer: it was halted, or cannot go on. One that starts has not announced itself yet, and one
 * that stops no longer does.
 */
function announcedDaemon(env: Env) {
  return new HooksFolder(join(dataDir(env), 'hooks')).runningDaemon()
}

/** The other process in words, with its pid and age where they are known. */
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
