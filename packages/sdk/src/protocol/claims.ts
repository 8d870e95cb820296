// A claim on a file, as a schema and a type. No behaviour.

import { z } from 'zod'

/** A file that one agent is editing. */
export const Claim = z.object({
  agent: z.string(),
  /** The checkout that the file is in, without links in its path. `file` is the file's path from there. */
  root: z.string(),
  file: z.string(),
  /** The claim was made by an edit, or by hand. */
  how: z.enum(['edit', 'hand']),
  since: z.string(),
  until: z.string(),
  /** The beginning of the holder's task, for those who may know it. */
  task: z.string().optional(),
})
export type Claim = z.infer<typeof Claim>
