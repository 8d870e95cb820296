// How long a command waits for a daemon that runs and does not answer, because it starts or stops, and what is said meanwhile.

import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { RelayError } from '@agent-relay/sdk'
import { dataDir, type Env } from '@agent-relay/sdk/internal/discover'
import { HooksFolder } from '../../../machine/hooks-folder.ts'
import { pollMs } from '../../control-socket.ts'
import { logPath } from './log-file.ts'

/** A daemon usually starts within half a second. Whoever waits longer than this is told for what ... */
export const startMs = 10_000
/** ... and gives up after this: after an update it first migrates its database, about a second for 100,000 entries. */
const updateMs = 600_000

/** The process that was started here, and how it has ended, if it has. */
interface Own {
  readonly pid?: number
  readonly code?: number
}

export class Patience {
  readonly #env: Env
  readonly #say: (text: string) => void
  readonly #usualMs: number
  readonly #from = performance.now()
  #said = ''

  constructor(env: Env, say: (text: string) => void, usualMs = startMs) {
    this.#env = env
    this.#say = say
    this.#usualMs = usualMs
  }

  /** A moment. Without an own process, or once that has lost the race for the lock, it is another process that is waited for. */
  async wait(own?: Own): Promise<void> {
    const ms = performance.now() - this.#from
    if (ms > this.#usualMs) this.#tell(own && own.code === undefined ? own : undefined, ms)
    await sleep(pollMs)
  }

  #tell(own: Own | undefined, ms: number): void {
    if (ms > updateMs || (!own && hangs(this.#env))) throw silent(this.#env)
    const text = own ? stillStarting(this.#env, own.pid) : anothers(this.#env)
    if (text !== this.#said) this.#say(text)
    this.#said = text
  }
}

/** A daemon that starts has not announced itself yet, one that stops does not any more: this one was halted, or cannot go on. */
function hangs(env: Env): boolean {
  return new HooksFolder(join(dataDir(env), 'hooks')).hasDaemon()
}

function silent(env: Env): RelayError {
  return new RelayError(
    `Another process holds ${dataDir(env)} but does not answer. Is it stopping or stopped? See: ${logPath(dataDir(env))}`,
    { code: 'daemon.stopping' },
  )
}

function anothers(env: Env): string {
  return `Another process starts or stops a daemon in ${dataDir(env)}: waiting for it. Ctrl-C ends the wait. Its log: ${logPath(dataDir(env))}`
}

function stillStarting(env: Env, pid: number | undefined): string {
  const why = 'After an update it first migrates its databases, which takes a while if they are large.'
  return `The daemon (pid ${pid}) is still starting. ${why} Its log: ${logPath(dataDir(env))}`
}
