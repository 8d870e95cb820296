// Makes the git branch of a worker's worktree, and removes the branch if no work is lost with it. A branch that points to another commit than when it
// was checked is kept.

import { lstatSync } from 'node:fs'
import type { Worktree } from '@agent-relay/sdk/protocol'
import { hasPassed } from '../machine/clock.ts'
import { countUnmergedCommits } from './changes.ts'
import type { Git } from './git.ts'
import { removeFile } from './own-files.ts'
import { branchRef, listWorktrees } from './repository.ts'

/**
 * Age at which git's lock file of a branch counts as left behind: git holds such a lock for a few milliseconds, and waits for the lock of another git as long
 * as `core.filesRefLockTimeout` says.
 */
const deadLockMs = 1_000

/** Makes the worktree's branch. Fails if a branch of this name exists by now: it belongs to somebody else. */
export function makeBranch(git: Git, worktree: Worktree): Promise<void> {
  const { base } = worktree
  return setBranch(git, worktree, [branchRef(worktree), base, '0'.repeat(base.length)])
}

/** Removes the worktree's branch, unless the branch has commits that are on no other branch, or somebody has checked it out. */
export async function removeMergedBranch(git: Git, worktree: Worktree): Promise<void> {
  const tip = await branchTip(git, worktree)
  const isInUse = (await listWorktrees(git, worktree.repository)).some(({ ref }) => ref === branchRef(worktree))
  if (tip === undefined || isInUse || (await countUnmergedCommits(git, worktree)) !== 0) return
  await setBranch(git, worktree, ['-d', branchRef(worktree), tip])
}

/** Removes the worktree's branch, together with commits that are on no other branch. */
export async function forceRemoveBranch(git: Git, worktree: Worktree): Promise<void> {
  const tip = await branchTip(git, worktree)
  if (tip !== undefined) await setBranch(git, worktree, ['-d', branchRef(worktree), tip])
}

export function branchTip(git: Git, worktree: Worktree): Promise<string | undefined> {
  return git.firstLine(worktree.repository, ['rev-parse', '--verify', '--quiet', branchRef(worktree)])
}

async function setBranch(git: Git, worktree: Worktree, args: readonly string[]): Promise<void> {
  const set = () => git.run(worktree.repository, ['update-ref', ...args])
  await set().catch(async (error) => {
    if (!(await dropDeadLock(git, worktree))) throw error
    await set()
  })
}

/** Removes the lock file that a killed git left behind while it wrote the branch, and that blocks every later write. Returns whether a lock was removed. */
async function dropDeadLock(git: Git, worktree: Worktree): Promise<boolean> {
  const asked = ['rev-parse', '--path-format=absolute', '--git-path', `${branchRef(worktree)}.lock`]
  const path = (await git.run(worktree.repository, asked)).trimEnd()
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (!found || !hasPassed(deadLockMs, Math.floor(found.mtimeMs), Date.now())) return false
  await removeFile(path)
  return true
}
