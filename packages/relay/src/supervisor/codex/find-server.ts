// Finds the socket of Codex's own background server, in Codex's home directory or else by asking the program `codex`, and checks whether the server
// can be used. A socket that another user could have made is not used. The server's abilities are tried out, whatever its version. The client of the
// server is in app-server.ts.

import { execFile } from 'node:child_process'
import { lstatSync } from 'node:fs'
import { lstat, realpath, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { readForeignText } from '@agent-relay/sdk/internal/discover'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { limits } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { RpcError } from '../json-rpc.ts'
import { AppServer, type AppServerListener, UnfitServerError } from './app-server.ts'

const daemonAnswerBytesMax = 64 * 1024
const DaemonAnswer = z.object({
  socketPath: z.string().max(limits.pathCharsMax),
  appServerVersion: z.string().max(100),
})

const PidFile = z.object({
  pid: z.number().int().positive(),
  processIdentity: z.object({ startTicks: z.number() }),
})

/** The `codex` program, which can be asked where its server is. */
export interface CodexCommand {
  file: string
  env: Readonly<Record<string, string>>
}

export type FoundCodexServer =
  | { server: AppServer; version: string }
  /**
   * unfit: the server's answers are not as we need them. unsafe: another user may be behind its socket. silent: it did not answer, but may at another
   * time.
   */
  | { trouble: 'not-installed' | 'not-running' | 'silent' | 'unfit' | 'unsafe'; text: string }

const socketPathIn = (home: string) => join(home, 'app-server-control/app-server-control.sock')

/** Returns a text that identifies the socket in this home directory, so that a new socket is noticed; empty if there is no socket. */
export function socketIdentityIn(home: string): string {
  const stats = lstatSync(socketPathIn(home), { throwIfNoEntry: false })
  return stats ? `${stats.ino} ${stats.mtimeMs}` : ''
}

/** Returns the process number of the server in this home directory, from the server's own pid file; undefined if that process has ended. */
export function serverPidIn(home: string, startOf: (pid: number) => string | undefined): number | undefined {
  try {
    const note = PidFile.parse(JSON.parse(readForeignText(join(home, 'app-server-daemon/daemon.pid')) ?? ''))
    return startOf(note.pid) === String(note.processIdentity.startTicks) ? note.pid : undefined
  } catch {
    return undefined
  }
}

/**
 * Connects to the server of this home directory. Without one, the program `codex` is started once to ask it. It never runs in a project's directory,
 * where a file could change its answer.
 */
export async function findCodexServer(
  home: string | undefined,
  command: CodexCommand | undefined,
  listener: AppServerListener,
): Promise<FoundCodexServer> {
  if (home !== undefined) return openAt(socketPathIn(home), undefined, listener)
  if (command === undefined) return { trouble: 'not-installed', text: 'codex is not on PATH' }
  const said = await askCodex(command)
  if (!said) return { trouble: 'not-running', text: 'its background server does not run' }
  return openAt(said.socketPath, said.appServerVersion, listener)
}

async function openAt(
  path: string,
  version: string | undefined,
  listener: AppServerListener,
): Promise<FoundCodexServer> {
  const real = await safeSocket(path)
  if (real === undefined) return { trouble: 'unsafe', text: `${path} is not a socket of this user alone` }
  return tryOut(real, version, listener)
}

/** Tries all calls that change nothing. Whether the server accepts a turn shows only when a turn is to begin. */
async function tryOut(path: string, said: string | undefined, listener: AppServerListener): Promise<FoundCodexServer> {
  let server: AppServer | undefined
  try {
    server = await AppServer.connect(path, listener)
    const [newest] = (await server.loadedThreads()).slice(-1)
    if (newest !== undefined) {
      await server.readThread(newest).catch(unlessRefused)
      await server.lastCompaction(newest).catch(unlessRefused)
    }
    return { server, version: said ?? versionOf(server) ?? 'unknown version' }
  } catch (error) {
    server?.close()
    const version = said ?? (server && versionOf(server))
    const which = version === undefined ? '' : `version ${version}: `
    if (error instanceof UnfitServerError) return { trouble: 'unfit', text: `${which}${error.message}` }
    return { trouble: 'silent', text: 'its background server does not answer' }
  }
}

const versionOf = ({ userAgent }: AppServer) => /\/(\d[\w.-]{0,40})/.exec(userAgent)?.[1]

/** Ignores a refusal: a conversation may be closed before it is read, and before its first turn it has no steps. */
function unlessRefused(error: unknown): void {
  if (!(error instanceof RpcError)) throw error
}

function askCodex({ file, env }: CodexCommand): Promise<z.infer<typeof DaemonAnswer> | undefined> {
  const options = {
    env,
    cwd: env.HOME ?? homedir(),
    timeout: waitLimitMs('cliDaemon'),
    maxBuffer: daemonAnswerBytesMax,
  }
  return new Promise((resolve) => {
    const child = execFile(file, ['app-server', 'daemon', 'version'], options, (error, stdout) => {
      try {
        resolve(error ? undefined : DaemonAnswer.parse(JSON.parse(stdout)))
      } catch {
        resolve(undefined)
      }
    })
    child.stdin?.end()
  })
}

/**
 * Returns the real path of the socket. The socket, the path and the folders of both must belong to this user, and nobody else may be able to write to
 * them.
 */
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
