// Whether a process has ended. Another may have its number by now: whoever asks must not mind taking that one for it.

export function isGone(pid: number): boolean {
  try {
    return !process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}
