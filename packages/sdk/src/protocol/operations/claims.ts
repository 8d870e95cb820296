// Operations on claims: the files that agents are editing. Files are paths on the daemon's own machine, so over the network they need the key.

import { z } from 'zod'
import { Claim } from '../claims.ts'
import { limits } from '../limits.ts'
import type { OperationTable } from './rule.ts'

const path = z.string().min(1).max(limits.pathCharsMax)
const named = z.object({
  /** The directory in which relative paths begin. */
  cwd: path,
  files: z.array(path).min(1).max(limits.claimFilesMax),
})

export const claimOperations = {
  'claim.edit': {
    kind: 'command',
    who: 'agent',
    network: 'key',
    byHost: 'always',
    summary: 'Say what you are about to edit, as a hook does before the edit: claims the files, or denies the edit.',
    input: named.extend({
      files: z.array(path).max(limits.claimFilesMax),
      /** Paths that the edit removes, moves or restores: of a directory, everything below it. */
      trees: z.array(path).max(limits.claimTreesMax).optional(),
      /** A git command that touches files which it does not name, and the directory it runs in. */
      git: z.object({ command: z.string().max(4_000), directory: path }).optional(),
    }),
    output: z.object({
      isDenied: z.boolean(),
      /** The text for the agent, if anything is in its way. */
      text: z.string().optional(),
      /** The first of the claims of others that were in the way. */
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
    summary: 'The files that agents have in hand, by agent.',
    input: z.object({}),
    output: z.object({ claims: z.array(Claim) }),
  },
} satisfies OperationTable
