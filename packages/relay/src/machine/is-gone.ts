// Whether a process has ended. Another process may have its id by now, and in a sandbox with process ids of its own every outside process counts as
// ended: callers must not mind the first, and have to rule out the second.

export function isGone(pid: number): boolean {
  try {
    return !process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}
