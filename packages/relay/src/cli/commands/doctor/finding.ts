// What one check of the doctor finds: the state, a sentence, and the fix. The checks are in the other files of this folder.

import type { Env } from '@agent-relay/sdk/internal/discover'

export interface Finding {
  /** What was looked at: `node`, `data`, `editor claude`. */
  check: string
  /** `note`: nothing is broken, but the person should know. */
  state: 'ok' | 'note' | 'fault'
  text: string
  /** What a person does about it. */
  fix?: string
  /** What `--fix` does about it: only what loses nothing and surprises nobody. */
  repair?: () => Promise<void> | void
}

export interface Patient {
  env: Env
  cwd: string | undefined
  nodeVersion: string
}

export type Check = (patient: Patient) => Promise<Finding[]> | Finding[]
