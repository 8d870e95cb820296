// Finds the processes that a run of the tests leaves behind. Each test has to end what it starts, also when it fails.
import { chmodSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** The time for processes to end: a daemon that was asked to stop may still be at it. The test of this file waits less long. */
const endingMs = Number(process.env.TEST_ENDING_MS ?? 60_000)

/**
 * Makes a folder for everything that the tests write. A process that names it was started by them, and the folder is removed whole. Its path is
 * short, as sockets lie in it.
 */
export function makeRoom() {
  const room = mkdtempSync(join(tmpdir(), 'rt-'))
  // Everybody may read the folder, because some tests act as another user.
  chmodSync(room, 0o755)
  process.env.TMPDIR = room
  const clear = () => {
    for (const { pid } of processesOf(room))
      try {
        process.kill(pid, 'SIGKILL')
      } catch {} // It has ended by itself.
    rmSync(room, { recursive: true, force: true, maxRetries: 5 })
  }
  // Cleared also after Ctrl-C.
  process.once('exit', clear)
  return {
    /** The command lines of processes that do not end by themselves; these are ended with this process. Only Linux tells. */
    async leave() {
      const from = performance.now()
      let left = processesOf(room)
      for (; left.length > 0 && performance.now() - from < endingMs; left = processesOf(room)) await sleep(200)
      return left.map(({ pid, line }) => `${pid} ${line}`)
    },
  }
}

/**
 * The processes whose command line, folder or environment names the room. Children of this process, such as the compiler, are left out, because they
 * end with it.
 */
function processesOf(room) {
  if (process.platform !== 'linux') return []
  const pids = readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 1 && pid !== process.pid)
  return pids.flatMap((pid) => {
    try {
      const read = (name) => readFileSync(`/proc/${pid}/${name}`, 'utf8').replaceAll('\0', ' ')
      const line = read('cmdline')
      const parent = Number(/\nPPid:\s+(\d+)/.exec(read('status'))?.[1])
      if (parent === process.pid) return []
      const names = [line, readlinkSync(`/proc/${pid}/cwd`), read('environ')]
      return names.some((text) => text.includes(room)) ? [{ pid, line }] : []
    } catch {
      // The process has ended, or is somebody else's.
      return []
    }
  })
}
