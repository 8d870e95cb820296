// Runs work on a database in a thread, so that the daemon can do other work meanwhile.

import { parentPort, Worker, workerData } from 'node:worker_threads'
import type { Refusal } from '@agent-relay/sdk/protocol'
import { RefusalError, toRefusal } from '../core/refusal-error.ts'

/**
 * Starts one of the scripts of this folder in a thread. The script is loaded from the package's own `dist`, even if this file is run as TypeScript: a thread
 * loads JavaScript alone.
 */
export function startThread(script: `${string}-thread`, workerData: unknown): Worker {
  const thread = new Worker(new URL(`../../dist/store/${script}.js`, import.meta.url), { workerData, execArgv: [] })
  thread.unref()
  return thread
}

/** Runs such a script to its end. */
export function runInThread(script: 'snapshot-thread' | 'migrating-thread', data: unknown): Promise<void> {
  return new Promise((resolve, reject) => {
    const thread = startThread(script, data)
    thread.once('message', (refused?: Refusal) => (refused ? reject(new RefusalError(refused)) : resolve()))
    thread.once('error', reject)
    thread.once('exit', () => reject(new Error(`the thread ${script} has ended before its work was done`)))
  })
}

/** Runs the work of such a script inside the thread, and tells the thread that has started it whether it succeeded. */
export function runAsThread<T>(work: (data: T) => void): void {
  parentPort?.postMessage(refusalOf(() => work(workerData)))
}

function refusalOf(work: () => void): Refusal | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    return toRefusal(error)
  }
}
