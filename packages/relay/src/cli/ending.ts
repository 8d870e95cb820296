// What ends a command that runs until it is told to stop: a signal, a closed terminal, or a reader that went away. And what does not end a
// daemon: a background task that failed.

let current: AbortController | undefined

const signals: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** The first signal asks the command to clean up and end; a second one ends it at once. */
export function awaitEnding(meant = signals): AbortSignal {
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

/** A reader of our output may stop reading: `| head` is not a failure. */
export function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // EIO: the terminal itself is gone.
    if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error
    if (current) current.abort()
    else process.exit(0)
  })
  process.stderr.on('error', () => {})
}

export function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Reports failed background tasks instead of ending the process; each concerns one workspace. An uncaught exception still ends it. */
export function outliveTasks(tell: (error: Error) => void): void {
  process.on('unhandledRejection', (reason) => tell(reason instanceof Error ? reason : new Error(String(reason))))
}
