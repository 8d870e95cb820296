// Operations on claims: the files that agents are editing. Files are paths on the daemon's own machine, so these operations need the workspace key over the
// network.

import { z } from 'zod'
import { Claim } from '../claims.ts'
import { limits } from '../limits.ts'
import type { OperationTable } from './rule.ts'

const path = z.string().min(1).max(limits.pathCharsMax)
const named = z.object({
  /** The directory from which relative paths start. */
  cwd: path,
  files: z.array(path).min(1).max(limits.claimFilesMax),
})

export const claimOperations = {
  'claim.edit': {
    kind: 'command',
    who: 'agent',
    network: 'key',
    byHook: 'always',
    summary: 'Say what you are about to edit, as a hook does before the edit: claims the files, or denies the edit.',
    input: named.extend({
      files: z.array(path).max(limits.claimFilesMax),
      /** Paths that the edit removes, moves or restores. A directory stands for everything in it. */
      trees: z.array(path).max(limits.claimTreesMax).optional(),
      /** A git command that changes files without naming them, and the directory in which it runs. */
      git: z.object({ command: z.string().max(4_000), directory: path }).optional(),
    }),
    output: z.object({
      isDenied: z.boolean(),
      /** A text for the agent about claims in its way. Unset if there are none. */
      text: z.string().optional(),
      /** The first of the other agents' claims that stand in the way. */
      met: z.array(Claim),
    }),
  },
  'claim.add': {
    kind: 'command',
    who: 'agent',
    network: 'key',
    summary: `Claim files by hand, for ${limits.claimMs / 60_000} minutes.`,
    input: named,
    output: z.object({ claims: z.array(Claim) }),
  },
  'claim.drop': {
    kind: 'command',
    who: 'agent',
    network: 'key',
    summary: 'End claims of yours; people end those of anybody.',
    input: named,
    output: z.object({ claims: z.array(Claim) }),
  },
  'claim.list': {
    kind: 'query',
    who: 'anyone',
    network: 'token',
    summary: 'The claimed files, by agent.',
    input: z.object({}),
    output: z.object({ claims: z.array(Claim) }),
  },
} satisfies OperationTable
