// Copies the log into the database from a thread, while much is written at once: the sync that this takes would otherwise hold up whoever commits next.

import { Worker } from 'node:worker_threads'
import { Database } from './database.ts'

/** Pause between two copies. */
const restMs = 50

/** Starts the thread, which is loaded from the package's own `dist` (see snapshot.ts). It has ended once the returned function has resolved. */
export function checkpointInThread(path: string): () => Promise<void> {
  const thread = new Worker(new URL('../../dist/store/checkpoint-thread.js', import.meta.url), {
    workerData: path,
    execArgv: [],
  })
  const over = new Promise<void>((resolve) => thread.once('exit', () => resolve()))
  // Without the thread, commits copy the log themselves, as they do at other times.
  thread.once('error', () => {})
  thread.unref()
  return () => {
    thread.postMessage('end')
    return over
  }
}

/** Copies the log again and again, until the returned function is called. */
export function checkpointUntilEnded(path: string): () => void {
  const database = new Database(path)
  const copyLog = database.prepare('PRAGMA wal_checkpoint(PASSIVE)')
  const timer = setInterval(() => copyLog.all(), restMs)
  return () => {
    clearInterval(timer)
    database.close()
  }
}
