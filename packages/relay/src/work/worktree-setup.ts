// Sets up a worker's new worktree beyond its commit, as the project's trusted configuration says: copies of files that git ignores, submodules, and a set-up
// command. Nothing is fetched: each submodule becomes a worktree of the same submodule in the main checkout.

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { dirname, join, relative } from 'node:path'
import { readForeignFile } from '@agent-relay/sdk/internal/discover'
import type { Worktree } from '@agent-relay/sdk/protocol'
import type { ProjectSettings } from '../machine/trust.ts'
import { isInside } from '../machine/working-directory.ts'
import type { CopiedFiles } from './changes.ts'
import type { Git } from './git.ts'
import { createFile, makeFolder } from './own-files.ts'
import { pathExists } from './repository.ts'

export type WorktreeSettings = NonNullable<ProjectSettings['worktree']>

/** Timeout of the set-up command: long enough for `npm ci` in a large project. */
const setupMs = 10 * 60_000
const setupOutputBytesMax = 16 * 1024 * 1024
/** Characters shown of the end of the set-up command's output. */
const setupShownChars = 2_000

/** Copies the named files from the main checkout into the worktree, unless the worktree has them already. Links, and files reached by a link, are refused. */
export async function copyFiles({ repository, path }: Worktree, files: readonly string[] = []): Promise<CopiedFiles> {
  const copied: Record<string, string> = {}
  for (const name of files) {
    const [from, to] = [pathInside(repository, name), pathInside(path, name)]
    const found = pathExists(to) ? undefined : readForeignFile(from, { within: repository })
    if (!found) continue
    await makeFolder(dirname(to))
    await createFile(to, found.bytes, found.stats.mode & 0o777)
    copied[relative(path, to)] = createHash('sha256').update(found.bytes).digest('hex')
  }
  return copied
}

/**
 * Checks out the named submodules in the worktree, each without a branch, at the commit that the checkout around it names: the worktree, or a
 * submodule that was checked out before.
 */
export async function addSubmodules(git: Git, { repository, path }: Worktree, names: readonly string[] = []) {
  const tops = [path]
  for (const name of names) {
    const [from, to] = [pathInside(repository, name), pathInside(path, name)]
    const top = tops.findLast((each) => isInside(to, each)) as string
    const entry = await git.run(top, ['ls-tree', '--full-tree', 'HEAD', '--', relative(top, to)])
    const commit = /^160000 commit ([0-9a-f]+)\t/.exec(entry)?.[1]
    if (commit === undefined) throw new Error(`worktree.submodules: ${name} is not a submodule`)
    if (!pathExists(join(from, '.git')))
      throw new Error(`the submodule ${name} is not there. Fetch it: git submodule update --init ${name}`)
    await makeFolder(dirname(to))
    await git.run(from, ['worktree', 'add', '--detach', '--', to, commit])
    tops.push(to)
  }
}

export interface SetupOptions {
  cwd: string
  env: Record<string, string>
  signal: AbortSignal
}

/** Runs the project's set-up command for a worktree. If the command fails, rejects with the end of its output. */
export function runSetup(
  [file, ...args]: readonly [string, ...string[]],
  { cwd, env, signal }: SetupOptions,
): Promise<void> {
  const options = { cwd, env, signal, timeout: setupMs, maxBuffer: setupOutputBytesMax }
  return new Promise((done, fail) => {
    const child = execFile(file, args, options, (error, stdout, stderr) => {
      if (!error) return done()
      const { code, killed } = error as { code?: unknown; killed?: boolean }
      const how = killed ? `took longer than ${setupMs / 60_000} minutes` : `failed (${code})`
      const end = `${stdout}${stderr}`.trim().slice(-setupShownChars)
      fail(new Error(`the set-up command ${[file, ...args].join(' ')} ${how}${end === '' ? '' : `:\n${end}`}`))
    })
    child.stdin?.end()
  })
}

function pathInside(directory: string, name: string): string {
  const path = join(directory, name)
  if (path === directory || !isInside(path, directory)) throw new Error(`${name} is outside the repository`)
  return path
}
