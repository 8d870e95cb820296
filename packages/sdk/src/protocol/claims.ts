// This file says what a claim on a file is, as a schema and a type. It has no behaviour.

import { z } from 'zod'

/** A file that one agent is editing. */
export const Claim = z.object({
  agent: z.string(),
  /** The checkout that the file is in, without links in its path, and the file's way from there. */
  root: z.string(),
  file: z.string(),
  /** Made by an edit, or by hand. */
  how: z.enum(['edit', 'hand']),
  since: z.string(),
  until: z.string(),
  /** The beginning of what its holder was asked to do, for those who may know it. */
  task: z.string().optional(),
})
export type Claim = z.infer<typeof Claim>
