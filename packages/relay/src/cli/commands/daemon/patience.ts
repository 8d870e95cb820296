// Decides how long a command waits for a daemon that runs and does not answer, because it starts or stops, and what it prints meanwhile.

import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { RelayError } from '@agent-relay/sdk'
import { dataDir, type Env } from '@agent-relay/sdk/internal/discover'
import { waitLimitMs, waits } from '@agent-relay/sdk/internal/waits'
import { HooksFolder } from '../../../machine/hooks-folder.ts'
import { pollMs } from '../../control-socket.ts'
import { ageOf } from '../../text.ts'
import { logPath } from './log-file.ts'

/** A wait that lasts this long is explained. */
export const tellMs = 10 * waits.ownStart.usualMs

/** The daemon that this command has started; `code` is its exit code, once it has ended. */
interface Own {
  readonly pid?: number
  readonly code?: number
}

export class Patience {
  readonly #env: Env
  readonly #say: (text: string) => void
  readonly #tellMs: number
  readonly #otherMs: number
  readonly #from = performance.now()
  #said = ''

  /** Tests pass shorter limits. */
  constructor(env: Env, say: (text: string) => void, limits = { tellMs, otherMs: waitLimitMs('otherStart') }) {
    this.#env = env
    this.#say = say
    this.#tellMs = limits.tellMs
    this.#otherMs = limits.otherMs
  }

  /** Waits a moment. Without an `own` process, or once that has lost the race for the lock, the wait is for another process. */
  async wait(own?: Own): Promise<void> {
    const ms = performance.now() - this.#from
    if (ms > this.#tellMs) this.#tell(own && own.code === undefined ? own : undefined, ms)
    await sleep(pollMs)
  }

  #tell(own: Own | undefined, ms: number): void {
    if (ms > waitLimitMs('ownStart')) throw own ? neverAnswered(this.#env, own.pid, ms) : silent(this.#env)
    if (!own && ms > this.#otherMs && hanging(this.#env)) throw silent(this.#env)
    const text = own ? stillStarting(this.#env, own.pid) : anothers(this.#env)
    if (text !== this.#said) this.#say(text)
    this.#said = text
  }
}

/**
 * The daemon that has announced itself and does not answer: it was halted, or cannot go on. One that starts has not announced itself yet, and one
 * that stops no longer does.
 */
function hanging(env: Env) {
  return new HooksFolder(join(dataDir(env), 'hooks')).daemon()
}

/** The other process in words, with its pid and age where they are known. */
function another(env: Env): string {
  const daemon = hanging(env)
  if (!daemon) return 'Another process'
  const age = ageOf(daemon.since)
  return `Another process (pid ${daemon.pid}, ${age === 'now' ? 'just started' : `started ${age} ago`})`
}

function silent(env: Env): RelayError {
  const text = `${another(env)} holds ${dataDir(env)} but does not answer. Is it stopping or stopped? See: ${logPath(dataDir(env))}`
  return new RelayError(text, { code: 'daemon.stopping' })
}

function anothers(env: Env): string {
  return `Another process starts or stops a daemon in ${dataDir(env)}: waiting for it. Ctrl-C ends the wait. Its log: ${logPath(dataDir(env))}`
}

function stillStarting(env: Env, pid: number | undefined): string {
  const why = 'After an update it first migrates its databases, which takes a while if they are large.'
  return `The daemon (pid ${pid}) is still starting. ${why} Its log: ${logPath(dataDir(env))}`
}

function neverAnswered(env: Env, pid: number | undefined, ms: number): RelayError {
  const text = `The daemon (pid ${pid}) was started ${Math.round(ms / 60_000)} min ago, still runs and has not answered. See: ${logPath(dataDir(env))}`
  return new RelayError(text, { code: 'daemon.stopping' })
}
