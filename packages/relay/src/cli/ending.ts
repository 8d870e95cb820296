// How a command that goes on until it is told to stop gets told: a signal, a closed terminal, or a reader that went away.

let current: AbortController | undefined

const signals: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** From now on the first signal asks the command to clean up and end; a second one ends it at once. */
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

/** Whoever reads our output may stop reading: `| head` is no failure. */
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
