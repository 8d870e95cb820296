// What a component asks of the daemon, with the reason where it fails: what the person has pressed, and what is shown from the start.

import { useEffect, useState } from 'react'

/** Runs what the person has asked for. `why` is the reason of a failure, until the next try. */
export function useAsyncAction() {
  const [why, setWhy] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const attempt = async (work: () => unknown): Promise<void> => {
    setWhy(undefined)
    setBusy(true)
    try {
      await work()
    } catch (error) {
      setWhy((error as Error).message)
    }
    setBusy(false)
  }
  return { why, isBusy, attempt }
}

interface Told<T> {
  answer?: T
  why?: string
}

const nothing = {}

/** The answer of `ask`, which is asked again when a value of `about` has changed. An answer that comes too late counts for nothing. */
export function useAsyncResult<T>(ask: () => Promise<T>, about: readonly unknown[]): Told<T> {
  const [told, setTold] = useState<Told<T>>(nothing)
  useEffect(() => {
    let isCurrent = true
    setTold(nothing)
    ask().then(
      (answer) => isCurrent && setTold({ answer }),
      (error: Error) => isCurrent && setTold({ why: error.message }),
    )
    return () => {
      isCurrent = false
    }
    // biome-ignore lint/correctness/useExhaustiveDependencies: the caller says what the question is about
  }, about)
  return told
}
