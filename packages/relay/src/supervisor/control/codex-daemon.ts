// Where Codex's own background server listens, and whether it can be used: only Codex is asked where, only a socket that nobody but this user can
// have made is used, and what the server can do is found out by asking it, whatever its version. What is said to it is in app-server.ts.

import { execFile } from 'node:child_process'
import { lstat, realpath, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, isAbsolute } from 'node:path'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { limits } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { AppServer, type AppServerListener, Unfit } from '../doors/app-server.ts'
import { codex } from '../harness/codex.ts'
import { Refused } from '../json-rpc.ts'
import { allowedEnvironment, programOf } from '../launching.ts'

const saidBytesMax = 64 * 1024
const Said = z.object({ socketPath: z.string().max(limits.pathCharsMax), appServerVersion: z.string().max(100) })

export type CodexDaemon =
  | { server: AppServer; version: string }
  /** unfit: it runs, and answers otherwise than we need. unsafe: somebody else could be behind its socket. silent: it may answer another time. */
  | { trouble: 'not-installed' | 'not-running' | 'silent' | 'unfit' | 'unsafe'; text: string }

type Env = Readonly<Record<string, string | undefined>>

/** Starts `codex` once, which answers and ends. Never in a project's directory, where a file could tell it something else. */
export async function openCodexDaemon(env: Env, listener: AppServerListener): Promise<CodexDaemon> {
  const program = programOf(codex, [], env, '/')
  if (program === undefined) return { trouble: 'not-installed', text: 'codex is not on PATH' }
  const said = await ask(program, env)
  if (!said) return { trouble: 'not-running', text: 'its background server does not run' }
  const { socketPath, appServerVersion: version } = said
  const real = await safeSocket(socketPath)
  if (real === undefined) return { trouble: 'unsafe', text: `${socketPath} is not a socket of this user alone` }
  return tryOut(real, version, listener)
}

/** All that can be tried without changing anything. Whether it takes a turn is seen when there is one to begin. */
async function tryOut(path: string, version: string, listener: AppServerListener): Promise<CodexDaemon> {
  let server: AppServer | undefined
  try {
    server = await AppServer.connect(path, listener)
    const [newest] = (await server.loaded()).slice(-1)
    if (newest !== undefined) {
      await server.read(newest).catch(unlessRefused)
      await server.lastCompaction(newest).catch(unlessRefused)
    }
    return { server, version }
  } catch (error) {
    server?.close()
    if (error instanceof Unfit) return { trouble: 'unfit', text: `version ${version}: ${error.message}` }
    return { trouble: 'silent', text: 'its background server does not answer' }
  }
}

/** A conversation may be closed before it is read, and has no steps before its first turn. */
function unlessRefused(error: unknown): void {
  if (!(error instanceof Refused)) throw error
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
