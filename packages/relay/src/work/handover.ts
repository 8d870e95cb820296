// The mark beside git's own files about a worktree, which says for which worker it was made, and whether it was handed over; and what is done about worktrees that
// git had not finished making or removing when it was cut off.

import { readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readForeignText } from '@agent-relay/sdk/internal/discover'
import { parseJson } from '@agent-relay/sdk/internal/parse-json'
import type { Worktree } from '@agent-relay/sdk/protocol'
import { hasPassed } from '../machine/clock.ts'
import { isInside } from '../machine/working-directory.ts'
import type { Copied } from './changes.ts'
import type { Git } from './git.ts'
import { exists, refOf } from './repository.ts'

const markFile = 'agent-relay.json'
/** git holds a lock on a branch for a few milliseconds; it waits for one as long as `core.filesRefLockTimeout` says. */
const deadLockMs = 1_000

export interface WorktreeMark {
  /** The id of the worker that it was made for. */
  worker: string
  /** The files that were copied into it. */
  copied: Copied
  /** It was not handed over yet. */
  isSettingUp?: boolean
  /** It was found clean, and its removal has begun. */
  isLeaving?: boolean
}

/** Undefined where git had not finished making it. */
export async function markOf(git: Git, worktree: Worktree): Promise<Partial<WorktreeMark> | undefined> {
  const own = await ownOf(git, worktree)
  const text = own === undefined ? undefined : readForeignText(join(own, markFile))
  if (text === undefined) return undefined
  try {
    return known(parseJson(text) as Record<string, unknown>, worktree.path)
  } catch {
    return {}
  }
}

/** A worker may be able to write where the mark lies: what is not as we write it is not believed, and no file outside the worktree is a copy of ours. */
function known(mark: Record<string, unknown>, path: string): Partial<WorktreeMark> {
  const { worker, copied, isSettingUp, isLeaving } = mark
  const files = Object.entries(copied ?? {}).filter(
    ([file, digest]) => typeof digest === 'string' && isInside(join(path, file), path),
  )
  return {
    ...(typeof worker === 'string' ? { worker } : {}),
    copied: Object.fromEntries(files),
    isSettingUp: isSettingUp === true,
    isLeaving: isLeaving === true,
  }
}

/** Its path was free again, and another worker has it now. */
export function isOfAnother(mark: Partial<WorktreeMark> | undefined, worker: string): boolean {
  return mark?.worker !== undefined && mark.worker !== worker
}

export async function writeMark(git: Git, worktree: Worktree, mark: WorktreeMark): Promise<void> {
  const own = await ownOf(git, worktree)
  if (own === undefined) throw new Error(`git does not know ${worktree.path} as a worktree`)
  // Beside it first: what stands at its path may be a link.
  const aside = join(own, `${markFile}.new`)
  rmSync(aside, { force: true })
  writeFileSync(aside, JSON.stringify(mark), { flag: 'wx', mode: 0o600 })
  renameSync(aside, join(own, markFile))
}

/** The directory of git's own files about it: found from the repository, since its own `.git` may be missing. */
async function ownOf(git: Git, { repository, path }: Worktree): Promise<string | undefined> {
  const common = await git.run(repository, ['rev-parse', '--path-format=absolute', '--git-common-dir'])
  const all = join(common.trimEnd(), 'worktrees')
  const names = exists(all) ? readdirSync(all) : []
  const own = names.find((name) => readForeignText(join(all, name, 'gitdir'))?.trim() === join(path, '.git'))
  return own === undefined ? undefined : join(all, own)
}

/** git that was cut off while it wrote its files about a worktree refuses to list any of the repository's worktrees afterwards. */
export async function dropHalfMade(git: Git, worktree: Worktree): Promise<void> {
  const own = await ownOf(git, worktree)
  if (own === undefined || exists(join(own, markFile))) return
  const isWhole = ['HEAD', 'commondir'].every((name) => readForeignText(join(own, name))?.trim())
  if (isWhole) return
  rmSync(own, { recursive: true, force: true })
  // Nothing was checked out yet: all that can be there is the file that leads to what was just removed.
  if (readForeignText(join(worktree.path, '.git')) !== undefined) rmSync(join(worktree.path, '.git'))
}

/** Without its `.git`, which a removal that was cut off may have taken first, git would look at the checkout around it. */
export async function restoreLink(git: Git, worktree: Worktree): Promise<void> {
  const own = await ownOf(git, worktree)
  if (own !== undefined && !exists(join(worktree.path, '.git')))
    writeFileSync(join(worktree.path, '.git'), `gitdir: ${own}\n`, { flag: 'wx' })
}

/** git that was killed while it wrote the worktree's branch leaves its lock, which keeps everybody from that branch. True where one was removed. */
export async function dropDeadLock(git: Git, worktree: Worktree): Promise<boolean> {
  const asked = ['rev-parse', '--path-format=absolute', '--git-path', `${refOf(worktree)}.lock`]
  const path = (await git.run(worktree.repository, asked)).trimEnd()
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found || !hasPassed(deadLockMs, Math.floor(found.mtimeMs), Date.now())) return false
  rmSync(path, { force: true })
  return true
}
