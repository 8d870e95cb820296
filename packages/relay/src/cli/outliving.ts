// A daemon's process outlives a task in the background that failed: it concerns what the task was for, and not every agent of every workspace.

/** From now on such failures are told. An exception that nobody catches still ends the process: nothing is known of its state then. */
export function outliveTasks(tell: (error: Error) => void): void {
  process.on('unhandledRejection', (reason) => tell(reason instanceof Error ? reason : new Error(String(reason))))
}
