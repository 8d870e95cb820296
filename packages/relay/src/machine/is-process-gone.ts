// Tells whether a process has ended. Callers must tolerate that another process has the same id by now and so counts as running, and must rule out a sandbox
// with its own process ids, where every process outside counts as ended.

export function isProcessGone(pid: number): boolean {
  try {
    return !process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}
