// The worktree of a worker and the changes in it, as schemas and types. No behaviour.

import { z } from 'zod'

/** A git worktree made for one worker, with a branch of its own. */
export const Worktree = z.object({
  /** The path of the repository's main checkout. */
  repository: z.string(),
  path: z.string(),
  branch: z.string(),
  /** `base`: the commit from which the worktree was made. `onto`: the branch that was checked out there at that time. */
  base: z.string(),
  onto: z.string().optional(),
})
export type Worktree = z.infer<typeof Worktree>

export const WorktreeChanges = z.object({
  /** `ahead`: the number of commits on the worktree's branch that the branch `onto` does not have. `behind`: the number of commits the other way round. */
  ahead: z.number(),
  behind: z.number(),
  /**
   * The files that differ from the commit where the worktree's branch began, committed or not. `files` contains only as many names as are shown; `filesCount`
   * is the number of all.
   */
  files: z.array(z.string()),
  filesCount: z.number(),
  uncommittedCount: z.number(),
  /** The number of commits in the worktree that are on no other branch. */
  unmerged: z.number(),
  /** The unfinished git operation in the worktree, such as a rebase or a merge. */
  operation: z.string().optional(),
})
export type WorktreeChanges = z.infer<typeof WorktreeChanges>
