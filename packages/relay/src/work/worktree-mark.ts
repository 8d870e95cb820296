// The mark of a worktree: a file that shows for which worker the daemon made it, whether its set-up is complete, and which files were copied into it. The mark
// lies in git's own folder about the worktree, `worktrees/NAME` in the repository's git directory.

import { readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { readForeignText } from '@agent-relay/sdk/internal/discover'
import { parseJson } from '@agent-relay/sdk/internal/parse-json'
import type { Worktree } from '@agent-relay/sdk/protocol'
import { tryOrUndefined } from '../machine/try-or-undefined.ts'
import { isInside } from '../machine/working-directory.ts'
import type { CopiedFiles } from './changes.ts'
import type { Git } from './git.ts'
import { replaceFile } from './own-files.ts'
import { commonGitDirectory, pathExists } from './repository.ts'

const markFile = 'agent-relay.json'

export interface WorktreeMark {
  /** The id of the worker that the worktree was made for. */
  worker: string
  /** The files that were copied into the worktree. */
  copied: CopiedFiles
  /** Whether the worktree is still being set up, and not handed over to the worker yet. */
  isSettingUp?: boolean
}

export interface WorktreeRecord {
  /** git's own folder about the worktree, `worktrees/NAME` in the repository's git directory. */
  folder: string
  /** The mark that the daemon left in `folder`; unset if the daemon did not make the worktree. */
  mark?: Partial<WorktreeMark>
}

/**
 * Returns the reason of the lock under which git makes the worktree. git writes the lock before anything else about a worktree, so that even a half-made
 * worktree names its worker.
 */
export function lockReason(worker: string): string {
  return `agent-relay makes it for ${worker}`
}

/**
 * Finds git's own folder about a worktree; undefined if git has none. With `worker`, also finds a folder that git began for this worker and in which it has not
 * written the worktree's path yet.
 */
export async function findWorktreeRecord(
  git: Git,
  { repository, path }: Worktree,
  worker?: string,
): Promise<WorktreeRecord | undefined> {
  const folders = worktreeRecordFolders(await commonGitDirectory(git, repository))
  const begun = (folder: string) => worker !== undefined && textOf(folder, 'locked') === lockReason(worker)
  const folder =
    folders.find((each) => worktreePathOf(each) === path) ??
    folders.find((each) => worktreePathOf(each) === undefined && begun(each))
  return folder === undefined ? undefined : { folder, mark: readWorktreeMark(folder, path) }
}

/** Lists git's own folders about all worktrees of the repository that has this git directory. */
export function worktreeRecordFolders(common: string): string[] {
  const all = join(common, 'worktrees')
  return pathExists(all) ? readdirSync(all).map((name) => join(all, name)) : []
}

/** Returns the path of the worktree that one of git's folders is about; undefined if the folder does not name it. */
export function worktreePathOf(folder: string): string | undefined {
  const file = textOf(folder, 'gitdir')
  return file && basename(file) === '.git' ? dirname(file) : undefined
}

/** Whether the file `.git` in `path`, where the worktree is or was moved to, leads to `folder`, git's own folder about the worktree. */
export function leadsToRecord(path: string, folder: string): boolean {
  return textOf(path, '.git') === `gitdir: ${folder}`
}

/** Reads one of git's small text files. A link, or anything else that is no file, counts as missing, as git cannot read it. */
function textOf(folder: string, name: string): string | undefined {
  return tryOrUndefined(() => readForeignText(join(folder, name), { within: dirname(folder) })?.trim() || undefined)
}

export function readWorktreeMark(folder: string, path: string): Partial<WorktreeMark> | undefined {
  const text = textOf(folder, markFile)
  if (text !== undefined) return parseMark(text, path)
  const [, worker] = new RegExp(`^${lockReason('(\\S+)')}$`).exec(textOf(folder, 'locked') ?? '') ?? []
  return worker === undefined ? undefined : { worker, copied: {}, isSettingUp: true }
}

/**
 * Parses the text of a mark. A worker may be able to write to the mark's folder, so fields in another form are ignored, and no file outside the
 * worktree counts as a copy of ours.
 */
function parseMark(text: string, path: string): Partial<WorktreeMark> {
  try {
    const { worker, copied, isSettingUp } = parseJson(text) as Record<string, unknown>
    const files = Object.entries(copied ?? {}).filter(
      ([file, digest]) => typeof digest === 'string' && isInside(join(path, file), path),
    )
    return {
      ...(typeof worker === 'string' ? { worker } : {}),
      copied: Object.fromEntries(files) as CopiedFiles,
      isSettingUp: isSettingUp === true,
    }
  } catch {
    return {}
  }
}

export async function writeWorktreeMark(git: Git, worktree: Worktree, mark: WorktreeMark): Promise<void> {
  const record = await findWorktreeRecord(git, worktree)
  if (!record) throw new Error(`git does not know ${worktree.path} as a worktree`)
  await replaceFile(join(record.folder, markFile), JSON.stringify(mark))
}
