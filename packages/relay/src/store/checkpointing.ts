// Copies the log into the database from a thread, while much is written at once: the sync that this takes would otherwise hold up whoever commits next.

import { startThread } from './thread.ts'

/** Starts the thread. It has ended once the returned function has resolved. */
export function checkpointInThread(path: string): () => Promise<void> {
  const thread = startThread('checkpoint-thread', path)
  const over = new Promise<void>((resolve) => thread.once('exit', () => resolve()))
  // Without the thread, commits copy the log themselves, as they do at other times.
  thread.once('error', () => {})
  return () => {
    thread.postMessage('end')
    return over
  }
}
