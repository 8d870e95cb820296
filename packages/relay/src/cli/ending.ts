// Ends a command that runs until it is stopped: by a signal, a closed terminal, or a reader of its output that has ended. Also keeps a daemon running when a
// background task fails.

let current: AbortController | undefined

/** Resolves to whether the first Ctrl-C ends the command. A second Ctrl-C always does, and aborts `ending`. */
type InterruptCheck = (ending: AbortSignal) => Promise<boolean>

let interruptCheck: InterruptCheck | undefined

const signals: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** Returns an AbortSignal that the first Ctrl-C, SIGTERM or SIGHUP aborts, so that the command cleans up and ends. A second one ends the process at once. */
export function endingSignal(meant = signals): AbortSignal {
  if (current) return current.signal
  const ending = new AbortController()
  current = ending
  for (const signal of meant) {
    process.on(signal, () => {
      if (ending.signal.aborted) process.exit(130)
      const check = signal === 'SIGINT' ? interruptCheck : undefined
      interruptCheck = undefined
      if (!check) return ending.abort()
      void check(ending.signal)
        .catch(() => true)
        .then((ends) => (ends ? ending.abort() : checkInterrupts(check)))
    })
  }
  return ending.signal
}

/** Sets a check that decides whether the first Ctrl-C ends the command. Other signals, and a second Ctrl-C, always end it. */
export function checkInterrupts(check: InterruptCheck): void {
  interruptCheck = check
}

/** Ends the command without an error when the reader of its output has ended, as in `| head`. */
export function exitWhenOutputCloses(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // EIO: the terminal was closed.
    if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error
    if (current) current.abort()
    else process.exit(0)
  })
  process.stderr.on('error', () => {})
}

export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/**
 * Reports rejections of background tasks instead of ending the process, since each concerns only one workspace. An uncaught exception still ends the process.
 */
export function reportFailedTasks(tell: (error: Error) => void): void {
  process.on('unhandledRejection', (reason) => tell(reason instanceof Error ? reason : new Error(String(reason))))
}
