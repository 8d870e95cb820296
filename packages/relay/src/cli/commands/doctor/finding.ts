// The result of one check of the doctor: the state, a sentence, and the fix. The checks are in the other files of this folder.

import type { Env } from '@agent-relay/sdk/internal/discover'

export interface Finding {
  /** The thing that was checked: `node`, `data`, `editor claude`. */
  check: string
  /** `note`: nothing is broken, but the person should know. */
  state: 'ok' | 'note' | 'fault'
  text: string
  /** The fix that a person does. */
  fix?: string
  /** The fix that `--fix` does: only one that loses nothing and surprises nobody. */
  repair?: () => Promise<void> | void
}

export function okay(check: string, text: string): Finding {
  return { check, state: 'ok', text }
}

export function note(check: string, text: string, fix?: string): Finding {
  return { check, state: 'note', text, fix }
}

export function fault(check: string, text: string, fix?: string, repair?: Finding['repair']): Finding {
  return { check, state: 'fault', text, fix, repair }
}

export interface CheckedMachine {
  env: Env
  cwd: string | undefined
  nodeVersion: string
}

export type DoctorCheck = (patient: CheckedMachine) => Promise<Finding[]> | Finding[]
