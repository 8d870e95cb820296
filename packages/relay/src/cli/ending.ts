// Ends a command that runs until it is told to stop: by a signal, a closed terminal, or a reader that went away. Also keeps a daemon running when a
// background task fails.

let current: AbortController | undefined

const signals: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** Aborted by the first signal, so that the command cleans up and ends; a second signal ends the process at once. */
export function endingSignal(meant = signals): AbortSignal {
  if (current) return current.signal
  const ending = new AbortController()
  current = ending
  for (const signal of meant) {
    process.on(signal, () => {
      if (ending.signal.aborted) process.exit(130)
      ending.abort()
    })
  }
  return ending.signal
}

/** Ends the command when the reader of its output stops reading: `| head` is not a failure. */
export function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // EIO means that the terminal itself is gone.
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

/** Reports failed background tasks instead of ending the process; each concerns one workspace. An uncaught exception still ends it. */
export function reportFailedTasks(tell: (error: Error) => void): void {
  process.on('unhandledRejection', (reason) => tell(reason instanceof Error ? reason : new Error(String(reason))))
}
