// A workspace as its owner sees it in lists, and in the answers of commands about workspaces.

import { z } from 'zod'

/** The sizes of a workspace's files on disk, in bytes. */
export const FileBytes = z.object({ database: z.number(), log: z.number(), search: z.number(), archive: z.number() })

export const WorkspaceEntry = z.object({
  name: z.string(),
  id: z.string().optional(),
  open: z.boolean(),
  /** Whether the workspace is at rest: open but unused, so that its database is closed until somebody uses the workspace. */
  atRest: z.boolean().optional(),
  fault: z.string().optional().describe('Why it cannot be opened, and what helps.'),
  /** Whether several machines share the workspace. */
  shared: z.boolean().optional(),
  shadows: z
    .boolean()
    .optional()
    .describe('It lives on this machine alone, and its cluster has another of this name, which cannot be opened here.'),
  stopped: z
    .object({ code: z.string(), text: z.string() })
    .optional()
    .describe('This machine goes no further with it: why, and what helps. What it has can be read.'),
  cutOff: z
    .object({ place: z.string(), why: z.string(), since: z.string().optional(), isLasting: z.literal(true).optional() })
    .optional()
    .describe(
      'Its database does not answer. `since`: when it answered last; `isLasting`: not before somebody has done what `why` says.',
    ),
  reconciling: z
    .object({ done: z.number(), of: z.number() })
    .optional()
    .describe('While it is reconciled: how many of how many entries were looked at.'),
  pruning: z
    .object({
      doing: z.enum(['looking', 'pruning', 'giving space back']),
      done: z.number(),
      of: z.number(),
      messages: z.number(),
    })
    .optional()
    .describe('While it is pruned, or somebody asks what would go: how many of how many entries were looked at.'),
  queued: z.number().optional().describe('How many messages wait on this machine until it can be reached.'),
  voids: z
    .array(z.object({ seq: z.number(), machine: z.string(), why: z.string() }))
    .optional()
    .describe('The newest entries of other machines that count for nothing, and why.'),
  isUnjudged: z.boolean().optional().describe('An older version has shared it, so no entry of a machine is judged.'),
  /** The directory that gave the workspace its name. */
  directory: z.string().optional(),
  /** The agents that are connected or whose programs the daemon runs. */
  users: z.array(z.string()).optional(),
  /** The agents whose programs the daemon runs. These programs end when the daemon ends. */
  workers: z.array(z.string()).optional(),
  seq: z.number().optional().describe('The number of its last entry, as long as it is open.'),
  socketPath: z.string(),
  path: z.string(),
  bytes: FileBytes.optional(),
})
export type WorkspaceEntry = z.infer<typeof WorkspaceEntry>
