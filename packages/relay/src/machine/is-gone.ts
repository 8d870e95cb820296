// Whether a process has ended. Another may have its number by now, and in a sandbox with process ids of its own every other process counts as ended:
// whoever asks must not mind the first, and has to rule out the second.

export function isGone(pid: number): boolean {
  try {
    return !process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}
