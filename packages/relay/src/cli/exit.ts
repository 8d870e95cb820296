// Turns a failure into its text for people, its code for programs, and the exit code of the process.

import type { RefusalDetails } from '@agent-relay/sdk/protocol/refusals'
import { CommandError, exits } from './command.ts'
import { clean } from './text.ts'

export interface Failure {
  /** The code of the refusal, otherwise the name of the exit code. */
  code: string
  text: string
  exit: number
  details?: RefusalDetails
  /** The stack trace of an unexpected error. */
  trace?: string
  isAnswered?: boolean
}

/** The exit codes of refusals that the SDK adds to the table. */
const sdkExits: Record<string, number> = {
  'daemon.not-running': exits.notRunning,
  'connection.lost': exits.notRunning,
  'workspace.ambiguous': exits.usage,
}

const systemExits: Record<string, number> = { EACCES: exits.denied, EPERM: exits.denied, EROFS: exits.denied }

export async function failureOf(error: unknown): Promise<Failure> {
  if (error instanceof CommandError) {
    const { message, exit, isAnswered } = error
    return { code: nameOf(exit), text: clean(message), exit, isAnswered }
  }
  if (!(error instanceof Error)) return { code: 'fault', text: String(error), exit: exits.refused }
  // A RelayError and a system error carry their code, a RefusalError its whole refusal.
  const { code, details }: Carried = (error as { refusal?: Carried }).refusal ?? (error as Carried)
  if (typeof code !== 'string')
    return { code: 'fault', text: clean(error.message), trace: error.stack && clean(error.stack), exit: exits.refused }
  const { exit, text } = await toldOf(code, error.message, details)
  return { code, text: clean(text), exit, details }
}

interface Carried {
  code?: unknown
  details?: RefusalDetails
}

function nameOf(exit: number): string {
  return Object.entries(exits).find(([, value]) => value === exit)?.[0] ?? 'refused'
}

/** The exit code and the text of a refusal. Imported here and not above: the table brings zod along, which `--version` and a mistyped option do not need. */
async function toldOf(
  code: string,
  message: string,
  details?: RefusalDetails,
): Promise<{ exit: number; text: string }> {
  const { isRefusalCode, messageFor, refusals } = await import('@agent-relay/sdk/protocol/refusals')
  const exit = isRefusalCode(code) ? refusals[code].exit : (sdkExits[code] ?? systemExits[code] ?? exits.refused)
  return { exit, text: messageFor('person', { code, message, details }) }
}
