// Finds the work that exists only in one worktree: commits, uncommitted files, and changes in files that git was told to overlook (assume-unchanged,
// skip-worktree). Writes nothing.

import { createHash } from 'node:crypto'
import { join, relative } from 'node:path'
import { copyForeignFile, readForeignFile } from '@agent-relay/sdk/internal/discover'
import type { Worktree, WorktreeChanges } from '@agent-relay/sdk/protocol'
import type { Git } from './git.ts'
import { withTemporaryFolder } from './own-files.ts'
import { pathExists, submoduleDirectories, submodulePaths } from './repository.ts'

/** Files that were copied into a worktree, with the SHA-256 of each: an unchanged copy is not somebody's work. */
export type CopiedFiles = Readonly<Record<string, string>>

const filesShownMax = 200
const diffBytesMax = 1024 * 1024
/** Maximum size of the git index that is copied for a diff; it is enough for some hundred thousand files. */
const indexBytesMax = 64 * 1024 * 1024
const ignoreDirtySubmodules = '--ignore-submodules=dirty'

/** Names in the git directory that show an unfinished rebase, merge or the like, during which git keeps work outside the branch and the files. */
const operationMarks = ['rebase-merge', 'rebase-apply', 'MERGE_HEAD', 'CHERRY_PICK_HEAD', 'REVERT_HEAD', 'BISECT_LOG']

export async function worktreeChanges(git: Git, worktree: Worktree, copied: CopiedFiles): Promise<WorktreeChanges> {
  const { path } = worktree
  const fork = await forkCommit(git, worktree)
  const [ahead = 0, behind = 0] = await aheadAndBehind(git, worktree)
  const [uncommitted, committed] = [await uncommittedFiles(git, path, copied), await filesChangedSince(git, path, fork)]
  const files = [...new Set([...committed, ...uncommitted])]
    .filter((file) => !isUnchangedCopy(path, file, copied))
    .sort()
  const operation = await unfinishedGitOperation(git, path)
  return {
    ahead,
    behind,
    files: files.slice(0, filesShownMax),
    filesCount: files.length,
    uncommittedCount: uncommitted.length,
    unmerged: await countUnmergedCommits(git, worktree),
    ...(operation === undefined ? {} : { operation }),
  }
}

/** Whether removing the worktree would lose nothing. Files that the repository ignores do not count, except copies that were changed. */
export function isClean({ uncommittedCount, unmerged, operation }: WorktreeChanges): boolean {
  return uncommittedCount === 0 && unmerged === 0 && operation === undefined
}

/** Lists the files that differ from the checked-out commit, that git does not know, or that git was told to overlook. */
export async function uncommittedFiles(git: Git, path: string, copied: CopiedFiles): Promise<string[]> {
  const seen = (await statusOf(git, path)).map((entry) => entry.slice(3))
  const overlooked = listOf(await git.run(path, ['ls-files', '-v', '-z']))
    .filter((entry) => /^[a-zS]/.test(entry))
    .map((entry) => entry.slice(2))
    .filter((file) => pathExists(join(path, file)))
  const changed = Object.keys(copied).filter(
    (file) => pathExists(join(path, file)) && !isUnchangedCopy(path, file, copied),
  )
  // Submodules are checked one by one: git itself would check them with the filters that their own configurations name.
  const inside: string[] = []
  for (const directory of await submoduleDirectories(git, path))
    if ((await uncommittedFiles(git, directory, {})).length > 0) inside.push(relative(path, directory))
  return [...new Set([...seen, ...overlooked, ...changed, ...inside])].filter(
    (file) => !isUnchangedCopy(path, file, copied),
  )
}

/** Returns the lines of `git status`: two letters, a space, and the path. For submodules only a change of the checked-out commit counts. */
async function statusOf(git: Git, path: string): Promise<string[]> {
  const status = ['status', '--porcelain', '-z', '--no-renames', '--untracked-files=all', ignoreDirtySubmodules]
  return listOf(await git.run(path, status))
}

/** Whether a file in the worktree is still the copy that the daemon put there. A file reached by a link is not: it may be the user's own. */
export function isUnchangedCopy(path: string, file: string, copied: CopiedFiles): boolean {
  const known = Object.hasOwn(copied, file) ? copied[file] : undefined
  return known !== undefined && known === digestOf(path, file)
}

/** Returns the file's digest; undefined if the path is no plain file that can be read, or is reached by a link. */
function digestOf(path: string, file: string): string | undefined {
  try {
    const found = readForeignFile(join(path, file), { within: path })
    return found && createHash('sha256').update(found.bytes).digest('hex')
  } catch {
    return undefined
  }
}

/**
 * Counts the commits of the worktree's HEAD and of its branch that were made since the worktree began and are on no other branch, tag or remote. `last`: the
 * worktree's last HEAD, if its directory is gone.
 */
export async function countUnmergedCommits(
  git: Git,
  { path, branch, base, repository }: Worktree,
  last?: string,
): Promise<number> {
  const directory = pathExists(join(path, '.git')) ? path : repository
  const own = await git.firstLine(directory, ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`])
  const isThere = directory === path
  const head = isThere ? await git.firstLine(path, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']) : last
  const on = isThere ? await git.firstLine(path, ['symbolic-ref', '--quiet', '--short', 'HEAD']) : undefined
  const tips = [own, head].filter((tip) => tip !== undefined)
  if (isThere && head === undefined) throw new Error('git cannot read its HEAD')
  if (tips.length === 0) return 0
  const excluded = [branch, ...(on === undefined ? [] : [on])].map((name) => `--exclude=${name}`)
  const others = ['--not', base, ...excluded, '--branches', '--remotes', '--tags']
  return Number(await git.run(directory, ['rev-list', '--count', ...tips, ...others]))
}

/** Finds a rebase, a merge or the like that was begun in a checkout and not ended; undefined if there is none. */
export async function unfinishedGitOperation(git: Git, path: string): Promise<string | undefined> {
  const own = (await git.run(path, ['rev-parse', '--absolute-git-dir'])).trimEnd()
  return operationMarks.find((name) => pathExists(join(own, name)))
}

/** Returns the newest commit of the branch that the worktree began from; if that branch is gone, the commit that the worktree began at. */
async function ontoTip(git: Git, { path, onto, base }: Worktree): Promise<string> {
  const tip = onto && (await git.firstLine(path, ['rev-parse', '--verify', '--quiet', `refs/heads/${onto}^{commit}`]))
  return tip || base
}

async function aheadAndBehind(git: Git, worktree: Worktree): Promise<number[]> {
  const onto = await ontoTip(git, worktree)
  const counts = await git.run(worktree.path, ['rev-list', '--left-right', '--count', `HEAD...${onto}`])
  return counts.split('\t').map(Number)
}

/** Returns the newest commit that the worktree has in common with the branch it began from. */
async function forkCommit(git: Git, worktree: Worktree): Promise<string> {
  const onto = await ontoTip(git, worktree)
  return (await git.firstLine(worktree.path, ['merge-base', 'HEAD', onto])) ?? worktree.base
}

async function filesChangedSince(git: Git, path: string, fork: string): Promise<string[]> {
  return listOf(await git.run(path, ['diff', ...plainDiffOptions, '--name-only', '-z', fork, '--']))
}

/** Options for a `git diff` that runs no programs named in a repository's attributes, and does not look into submodules. */
const plainDiffOptions = [
  '--no-ext-diff',
  '--no-textconv',
  '--no-color',
  '--no-renames',
  '--submodule=short',
  ignoreDirtySubmodules,
]

/** Returns all differences from the commit where the worktree forked off, committed or not; files that git does not know yet are shown whole. */
export async function worktreeDiff(git: Git, worktree: Worktree): Promise<{ text: string; isCut: boolean }> {
  const { path } = worktree
  const own = (await git.run(path, ['rev-parse', '--absolute-git-dir'])).trimEnd()
  return withTemporaryFolder(async (scratch) => {
    // New files are added to a copy of git's index, so that the worker's own index stays as it is.
    const index = join(scratch, 'index')
    await copyForeignFile(join(own, 'index'), index, { bytesMax: indexBytesMax })
    const env = { GIT_INDEX_FILE: index }
    const links = (await submodulePaths(git, path)).map((way) => `:(exclude,literal)${way}`)
    await git.run(path, ['add', '--intent-to-add', '--', '.', ...links], { env })
    const text = await git.run(path, ['diff', ...plainDiffOptions, await forkCommit(git, worktree), '--'], { env })
    const isCut = Buffer.byteLength(text) > diffBytesMax
    return { text: isCut ? Buffer.from(text).subarray(0, diffBytesMax).toString() : text, isCut }
  })
}

function listOf(text: string): string[] {
  return text.split('\0').filter((each) => each !== '')
}
