// Relays for tests (`daemon start --test`): each leaves a note in the temporary directory that says for which working directory it runs, so that
// programs there find it and nothing is written anywhere else. Loaded by the stdio pipe: `node:` imports only.

import { lstatSync, mkdirSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readForeignText } from './foreign-file.ts'
import { isProjectName, testFolder } from './paths.ts'
import type { Env } from './settings.ts'

export interface TestRelay {
  project: string
  socketPath: string
  /** The relay's process has just begun, and answers in a moment. */
  isStarting: boolean
}

/** Far more than the start of a relay takes. A note that is older belongs to a relay that was killed, or that failed. */
const startMsMax = 10_000
const notePattern = /^(\d+)\.(\d+)\.(.+)$/
/** Attempts to write a note: the last relay to leave removes the folder, perhaps while the next one is about to write there. */
const triesMax = 5

/** The relays for tests of a working directory, the newest first. A folder that somebody else has put there counts for nothing. */
export function testRelays(cwd: string, env: Env): TestRelay[] {
  const folder = testFolder(cwd, env)
  if (!isOwnFolder(folder)) return []
  const names = namesIn(folder).sort().reverse()
  return names.flatMap((name) => {
    const [, at, pid, project] = notePattern.exec(name) ?? []
    const socketPath = textOf(join(folder, name))
    if (!isProjectName(project) || socketPath === '') return []
    return [{ project, socketPath, isStarting: Date.now() - Number(at) < startMsMax && isRunning(Number(pid)) }]
  })
}

/** The last relay to leave removes the folder. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** Notes that this process runs, or is about to run, a relay for a working directory. Returns a function that takes the note back. */
export function noteTestRelay(
  { project, socketPath }: Pick<TestRelay, 'project' | 'socketPath'>,
  cwd: string,
  env: Env,
): () => void {
  const folder = testFolder(cwd, env)
  const path = join(folder, `${Date.now()}.${process.pid}.${project}`)
  for (let tries = 1; ; tries++) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    if (!isOwnFolder(folder)) throw new Error(`${folder} is not a directory of yours`)
    try {
      writeFileSync(path, socketPath, { flag: 'wx', mode: 0o600 })
      break
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || tries === triesMax) throw error
    }
  }
  forgetDead(folder)
  return () => {
    rmSync(path, { force: true })
    try {
      rmdirSync(folder)
    } catch {
      // Another relay runs for the same directory.
    }
  }
}

/** Removes the notes of processes that were killed, and could not take them back. */
function forgetDead(folder: string): void {
  for (const name of readdirSync(folder)) {
    const pid = notePattern.exec(name)?.[2]
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(folder, name), { force: true })
  }
}

function isOwnFolder(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  return stats?.isDirectory() === true && (process.getuid === undefined || stats.uid === process.getuid())
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** The text of a note; empty where it was taken back in this moment, or is no note of ours. */
function textOf(path: string): string {
  try {
    return readForeignText(path) ?? ''
  } catch {
    return ''
  }
}
