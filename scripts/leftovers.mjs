// What a run of the tests leaves behind: processes. Each test has to end what it starts, also when it fails.
import { chmodSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A daemon that was asked to stop may still be at it. The test of this file waits less long. */
const endingMs = Number(process.env.TEST_ENDING_MS ?? 60_000)

/** A folder for all that the tests write: whatever names it was started by them, and it is removed whole. Its path is short, as sockets lie in it. */
export function makeRoom() {
  const room = mkdtempSync(join(tmpdir(), 'rt-'))
  // Some tests act as another user.
  chmodSync(room, 0o755)
  process.env.TMPDIR = room
  const clear = () => {
    for (const { pid } of processesOf(room)) process.kill(pid, 'SIGKILL')
    rmSync(room, { recursive: true, force: true, maxRetries: 5 })
  }
  // Also after Ctrl-C.
  process.once('exit', clear)
  return {
    /** The command lines of processes that do not end by themselves. Only Linux tells; they are ended with this one. */
    async leave() {
      const from = performance.now()
      let left = processesOf(room)
      for (; left.length > 0 && performance.now() - from < endingMs; left = processesOf(room)) await sleep(200)
      return left.map(({ pid, line }) => `${pid} ${line}`)
    },
  }
}

/** Their command line, folder or environment names the room. What this process itself has started, such as the compiler, ends with it. */
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
      // It has ended, or is somebody else's.
      return []
    }
  })
}
