// What one check of the doctor finds: how it stands, the sentence, the mend, and the mending where it needs nobody's leave. No check is here.

import type { Env } from '@agent-relay/sdk/discover'

export interface Finding {
  /** What was looked at: `node`, `data`, `editor claude`. */
  check: string
  /** `note`: nothing is broken, but the person should know. */
  state: 'ok' | 'note' | 'fault'
  text: string
  /** What a person does about it. */
  mend?: string
  /** What `--fix` does about it. Only what loses nothing and surprises nobody. */
  fix?: () => Promise<void> | void
}

export interface Patient {
  env: Env
  cwd: string | undefined
  nodeVersion: string
}

export type Check = (patient: Patient) => Promise<Finding[]> | Finding[]
