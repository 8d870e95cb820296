// Claims on files, as a schema and a type. No behaviour.

import { z } from 'zod'

/** A claim: a file that one agent is editing, so that other agents' edits of it can be held off. */
export const Claim = z.object({
  agent: z.string(),
  /** The root directory of the git checkout that contains the file, with symbolic links resolved. `file` is the file's path relative to `root`. */
  root: z.string(),
  file: z.string(),
  /** How the claim was made. edit: by an edit of the file. hand: by an explicit request. */
  how: z.enum(['edit', 'hand']),
  since: z.string(),
  until: z.string(),
  /** The beginning of the holder's task. Set only if the reader may see it. */
  task: z.string().optional(),
})
export type Claim = z.infer<typeof Claim>
