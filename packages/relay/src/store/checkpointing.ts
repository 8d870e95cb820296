// Checkpoints a database (copies its write-ahead log into it) from a thread while much is written at once. In the main thread, the sync of a checkpoint would
// delay the next commit.

import { startThread } from './thread.ts'

/** Starts the thread. It has ended once the returned function has resolved. */
export function checkpointInThread(path: string): () => Promise<void> {
  const thread = startThread('checkpoint-thread', path)
  const over = new Promise<void>((resolve) => thread.once('exit', () => resolve()))
  // If the thread fails, nothing is lost: SQLite then checkpoints in a commit, as it does without the thread.
  thread.once('error', () => {})
  return () => {
    thread.postMessage('end')
    return over
  }
}
