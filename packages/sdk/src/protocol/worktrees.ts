// The worktree of a worker and the changes in it, as schemas and types. No behaviour.

import { z } from 'zod'

/** A git worktree made for one worker, with a branch of its own. */
export const Worktree = z.object({
  /** The path of the repository's main checkout. */
  repository: z.string(),
  path: z.string(),
  branch: z.string(),
  /** `base` is the commit at which the worktree's branch began; `onto` is the branch that was checked out there. */
  base: z.string(),
  onto: z.string().optional(),
})
export type Worktree = z.infer<typeof Worktree>

export const WorktreeChanges = z.object({
  /** `ahead`: commits on the worktree's branch that the branch from which it began does not have. `behind`: the other way round. */
  ahead: z.number(),
  behind: z.number(),
  /**
   * The files that differ from the commit at which the branch forked off, committed or not. `files` has as many names as are shown; `filesCount` counts all
   * files.
   */
  files: z.array(z.string()),
  filesCount: z.number(),
  uncommittedCount: z.number(),
  /** The number of commits that are on no other branch. */
  unmerged: z.number(),
  /** A git operation that is unfinished, such as a rebase or a merge. */
  operation: z.string().optional(),
})
export type WorktreeChanges = z.infer<typeof WorktreeChanges>
