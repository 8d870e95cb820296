// Tells whether no process has this id any more. If another process has got the id by now, the answer is no, which callers must tolerate. In a
// sandbox with its own process ids every process outside counts as ended, which callers must rule out.

export function isProcessGone(pid: number): boolean {
  try {
    return !process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}
