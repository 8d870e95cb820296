// Where Codex's own background server listens: only Codex is asked, and only a socket that nobody but this user can have made is used. What is
// said to the server is in app-server.ts.

import { execFile } from 'node:child_process'
import { lstat, realpath, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, isAbsolute } from 'node:path'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { limits } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { codex } from '../harness/codex.ts'
import { allowedEnvironment, programOf } from '../launching.ts'

/** The versions whose schemas we built against and tried. With any other one, its sessions are reached at their next call. */
export const triedVersions: readonly string[] = ['0.166.0']

const saidBytesMax = 64 * 1024
const Said = z.object({ socketPath: z.string().max(limits.pathCharsMax), appServerVersion: z.string().max(100) })

export type CodexDaemon =
  | { socketPath: string; version: string }
  /** unknown: it runs, in a version that nobody has tried. unsafe: somebody else could be behind its socket. */
  | { trouble: 'not-installed' | 'not-running' | 'unknown' | 'unsafe'; text: string }

type Env = Readonly<Record<string, string | undefined>>

/** Starts `codex` once, which answers and ends. Never in a project's directory, where a file could tell it something else. */
export async function findCodexDaemon(env: Env): Promise<CodexDaemon> {
  const program = programOf(codex, [], env, '/')
  if (program === undefined) return { trouble: 'not-installed', text: 'codex is not on PATH' }
  const said = await ask(program, env)
  if (!said) return { trouble: 'not-running', text: 'its background server does not run' }
  const { socketPath, appServerVersion: version } = said
  if (!triedVersions.includes(version)) return { trouble: 'unknown', text: `version ${version} was not tried` }
  const real = await safeSocket(socketPath)
  if (real === undefined) return { trouble: 'unsafe', text: `${socketPath} is not a socket of this user alone` }
  return { socketPath: real, version }
}

function ask(program: string, env: Env): Promise<z.infer<typeof Said> | undefined> {
  const options = {
    env: allowedEnvironment(env),
    cwd: env.HOME ?? homedir(),
    timeout: waitLimitMs('cliDaemon'),
    maxBuffer: saidBytesMax,
  }
  return new Promise((resolve) => {
    const child = execFile(program, ['app-server', 'daemon', 'version'], options, (error, stdout) => {
      try {
        resolve(error ? undefined : Said.parse(JSON.parse(stdout)))
      } catch {
        resolve(undefined)
      }
    })
    child.stdin?.end()
  })
}

/** The socket behind the path. It, the path, and the folders of both must be this user's, and nobody else may write to them. */
async function safeSocket(path: string): Promise<string | undefined> {
  try {
    if (!isAbsolute(path)) return undefined
    const real = await realpath(path)
    const [link, target, ...folders] = await Promise.all([
      lstat(path),
      lstat(real),
      ...[path, real].map((each) => stat(dirname(each))),
    ])
    const isOwn = ({ uid }: { uid: number }) => uid === process.getuid?.()
    const isClosed = ({ mode }: { mode: number }) => (mode & 0o022) === 0
    const isSafe = target.isSocket() && isClosed(target) && folders.every((each) => isOwn(each) && isClosed(each))
    return isSafe && isOwn(link) && isOwn(target) ? real : undefined
  } catch {
    return undefined
  }
}
