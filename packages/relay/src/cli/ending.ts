// Ends a command that runs until it is told to stop: by a signal, a closed terminal, or a reader that went away. Also keeps a daemon running when a
// background task fails.

let current: AbortController | undefined

/** Resolves to whether the command ends. Another Ctrl-C meanwhile ends it in any case. */
type InterruptCheck = (ending: AbortSignal) => Promise<boolean>

let interruptCheck: InterruptCheck | undefined

const signals: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** Aborted by the first signal, so that the command cleans up and ends; a second signal ends the process at once. */
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

/** Lets a first Ctrl-C be checked before it ends the command. Other signals, and a second Ctrl-C, are not held up. */
export function checkInterrupts(check: InterruptCheck): void {
  interruptCheck = check
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
