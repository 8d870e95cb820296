// The result of one of the doctor's checks: a state, a sentence, and the fix. The checks are in the other files of this folder.

import type { Env } from '@agent-relay/sdk/internal/discover'

export interface Finding {
  /** What was checked, such as `node`, `data` or `editor claude`. */
  check: string
  /** In the state `note` nothing is broken, but the person should know of it. */
  state: 'ok' | 'note' | 'fault'
  text: string
  /** The fix as a command or sentence for the person. */
  fix?: string
  /** The fix that `doctor --fix` carries out. It must lose nothing, and do nothing unexpected. */
  repair?: () => Promise<void> | void
}

export function okFinding(check: string, text: string): Finding {
  return { check, state: 'ok', text }
}

export function noteFinding(check: string, text: string, fix?: string): Finding {
  return { check, state: 'note', text, fix }
}

export function faultFinding(check: string, text: string, fix?: string, repair?: Finding['repair']): Finding {
  return { check, state: 'fault', text, fix, repair }
}

export interface CheckedMachine {
  env: Env
  cwd: string | undefined
  nodeVersion: string
}

export type DoctorCheck = (patient: CheckedMachine) => Promise<Finding[]> | Finding[]
