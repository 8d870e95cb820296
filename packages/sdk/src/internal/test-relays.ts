// Relays for tests (`daemon start --test`). Each writes a small file into the temporary directory that says which working directory it serves, so that programs
// in that directory find it and nothing is written anywhere else. The MCP stdio pipe loads this file, so it imports only `node:` modules.

import { lstatSync, mkdirSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readForeignText } from './foreign-file.ts'
import { isProjectName, testRelayFolder } from './paths.ts'
import type { Env } from './settings.ts'

export interface TestRelay {
  project: string
  socketPath: string
  /** Whether the relay's process has just begun, so that its socket may not answer yet. */
  isStarting: boolean
}

/** How long, in ms, a relay may count as starting, far longer than a start takes. An older file belongs to a relay that was killed or has failed. */
const startMsMax = 10_000
const notePattern = /^(\d+)\.(\d+)\.(.+)$/
/** How often writing the file is attempted: the last relay that ends removes the folder, perhaps while the next relay is about to write into it. */
const triesMax = 5

/** Lists the test relays of a working directory, the newest first. A folder that another user has made is ignored. */
export function testRelays(cwd: string, env: Env): TestRelay[] {
  const folder = testRelayFolder(cwd, env)
  if (!isOwnFolder(folder)) return []
  const names = namesIn(folder).sort().reverse()
  return names.flatMap((name) => {
    const [, at, pid, project] = notePattern.exec(name) ?? []
    const socketPath = textOf(join(folder, name))
    if (!isProjectName(project) || socketPath === '') return []
    return [{ project, socketPath, isStarting: Date.now() - Number(at) < startMsMax && isRunning(Number(pid)) }]
  })
}

/** Lists the files in the folder. The last relay that ends removes the folder, so a missing folder means that there is no file. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** Records in a file that this process runs, or is about to run, a test relay for a working directory. Returns a function that removes the file. */
export function registerTestRelay(
  { project, socketPath }: Pick<TestRelay, 'project' | 'socketPath'>,
  cwd: string,
  env: Env,
): () => void {
  const folder = testRelayFolder(cwd, env)
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
      // Ignored: the folder is not empty, because another relay serves the same directory.
    }
  }
}

/** Removes the files of processes that were killed and could not remove them. */
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

/** Reads the file of a test relay; empty if the relay has just removed the file, or if the file is not safe to read. */
function textOf(path: string): string {
  try {
    return readForeignText(path) ?? ''
  } catch {
    return ''
  }
}
