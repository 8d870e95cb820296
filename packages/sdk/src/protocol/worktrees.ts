// The worktree of a worker and the changes in it, as schemas and types. No behaviour.

import { z } from 'zod'

/** A checkout of a worker's own, on a branch of its own. */
export const Worktree = z.object({
  /** The main checkout of the repository. */
  repository: z.string(),
  path: z.string(),
  branch: z.string(),
  /** The commit that the branch began at, and the branch that was checked out there. */
  base: z.string(),
  onto: z.string().optional(),
})
export type Worktree = z.infer<typeof Worktree>

export const WorktreeChanges = z.object({
  /** Commits that this branch has and the branch it began from has not, and the other way round. */
  ahead: z.number(),
  behind: z.number(),
  /** The files that differ from where the branch forked off, committed or not: as many names as are shown, and how many there are. */
  files: z.array(z.string()),
  filesCount: z.number(),
  uncommittedCount: z.number(),
  /** Commits that are on no other branch. */
  unmerged: z.number(),
  /** A rebase, a merge or the like that is under way. */
  operation: z.string().optional(),
})
export type WorktreeChanges = z.infer<typeof WorktreeChanges>
