// Merges a worker's branch into the checkout of the person who asks. No other file in work/ changes a checkout of the user's, and the merge is refused if
// something in the checkout could be lost.

import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Worktree } from '@agent-relay/sdk/protocol'
import { isInside } from '../machine/working-directory.ts'
import { unfinishedGitOperation } from './changes.ts'
import { type Env, Git, GitError } from './git.ts'
import { checkoutOf, commonGitDirectory } from './repository.ts'

/** Environment variables that git needs to sign a commit, for which it may ask the person. */
const signingVariables = [
  'GPG_TTY',
  'GNUPGHOME',
  'SSH_AUTH_SOCK',
  'DISPLAY',
  'WAYLAND_DISPLAY',
  'DBUS_SESSION_BUS_ADDRESS',
  'TERM',
]
const mergeMs = 10 * 60_000
const namesShownMax = 10

/** Thrown if the merge was not begun; nothing has changed. */
export class MergeRefused extends Error {}

export interface MergeResult {
  /** The checkout that the branch was merged into. */
  into: string
  /** HEAD of `into` before and after the merge; both are the same if there was nothing to merge. */
  before: string
  after: string
  /** Files with conflicts, which the person has to resolve. */
  conflicts: string[]
}

export async function mergeBranch(env: Env, directory: string, worktree: Worktree): Promise<MergeResult> {
  // Filters of the repository may run, because a person has typed this command, just as they could have typed `git merge`.
  const git = new Git(env, { runsFilters: true })
  const { top, head: before } = await checkoutOf(git, directory)
  if (
    (await commonGitDirectory(git, top)) !== (await commonGitDirectory(git, worktree.repository)) ||
    isInside(top, worktree.path)
  )
    throw new MergeRefused(`Go to the checkout that should get it, for instance: cd ${worktree.repository}`)
  await mustBeClean(git, top)
  const tip = await git.firstLine(top, ['rev-parse', '--verify', '--quiet', `refs/heads/${worktree.branch}^{commit}`])
  if (tip === undefined) throw new MergeRefused(`There is no branch ${worktree.branch} any more.`)
  await mustOverwriteNothing(git, top, before, tip)
  const kept = signingVariables.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]]))
  const words = ['merge', '--no-edit', '--no-autostash', '-m', `Merge branch '${worktree.branch}'`, tip]
  try {
    // The merge may write the checkout's index, since the person asked for the merge.
    const own = { ...Object.fromEntries(kept), GIT_OPTIONAL_LOCKS: '1' }
    await git.run(top, words, { env: own, timeoutMs: mergeMs })
  } catch (error) {
    const conflicts = await git.run(top, ['diff', '--name-only', '--diff-filter=U', '-z'])
    const names = conflicts.split('\0').filter((name) => name !== '')
    if (!(error instanceof GitError) || names.length === 0) throw error
    return { into: top, before, after: before, conflicts: names }
  }
  const after = (await git.run(top, ['rev-parse', 'HEAD'])).trimEnd()
  return { into: top, before, after, conflicts: [] }
}

async function mustBeClean(git: Git, top: string): Promise<void> {
  const operation = await unfinishedGitOperation(git, top)
  if (operation !== undefined)
    throw new MergeRefused(`In ${top} there is an open ${operation}. End it first: git status`)
  const changed = namesOf(await git.run(top, ['status', '--porcelain', '-z', '--no-renames', '--untracked-files=no']))
  if (changed.length > 0)
    throw new MergeRefused(
      `${top} has changes that are not committed: ${shown(changed.map((each) => each.slice(3)))}. Commit them first.`,
    )
}

/** Refuses to overwrite files that git ignores or was told to overlook, such as an `.env` that the worker has committed: git would overwrite them silently. */
async function mustOverwriteNothing(git: Git, top: string, head: string, tip: string): Promise<void> {
  const changed = [
    'diff',
    '--no-ext-diff',
    '--no-renames',
    '--name-only',
    '--diff-filter=d',
    '-z',
    `${head}...${tip}`,
    '--',
  ]
  const tracked = namesOf(await git.run(top, ['ls-files', '-v', '-z'])).filter((entry) => entry.startsWith('H '))
  const known = new Set(tracked.map((entry) => entry.slice(2)))
  const inTheWay = namesOf(await git.run(top, changed)).flatMap((name) => {
    const found = [...parentsOf(name), name].find((way) => !known.has(way) && isInTheWay(join(top, way), way === name))
    return found === undefined ? [] : [found]
  })
  if (inTheWay.length === 0) return
  const names = shown([...new Set(inTheWay)])
  throw new MergeRefused(
    `The branch would write over files in ${top} that git does not watch: ${names}. Move them away first.`,
  )
}

function isInTheWay(path: string, isItself: boolean): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  return stats !== undefined && (isItself || !stats.isDirectory())
}

/** Returns the folders above a file, the outermost first. */
function parentsOf(name: string): string[] {
  const parent = dirname(name)
  return parent === '.' ? [] : [...parentsOf(parent), parent]
}

function namesOf(text: string): string[] {
  return text.split('\0').filter((name) => name !== '')
}

function shown(names: string[]): string {
  const more = names.length - namesShownMax
  return names.slice(0, namesShownMax).join(', ') + (more > 0 ? ` and ${more} more` : '')
}
