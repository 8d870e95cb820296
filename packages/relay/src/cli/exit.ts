// Turns a failure into its text for people, its code for programs, and the exit code of the process.

import type { RefusalDetails } from '@agent-relay/sdk/protocol/refusals'
import { CommandError, exitCodes } from './command.ts'
import { cleanText } from './text.ts'

export interface CommandFailure {
  /** The code of the refusal, otherwise the name of the exit code. */
  code: string
  text: string
  exit: number
  details?: RefusalDetails
  /** The stack trace of an unexpected error. */
  trace?: string
  isPrintedAsJson?: boolean
}

/** The exit codes of refusals that the SDK adds to the table. */
const sdkExits: Record<string, number> = {
  'daemon.not-running': exitCodes.notRunning,
  'connection.lost': exitCodes.notRunning,
  'workspace.ambiguous': exitCodes.usage,
}

const systemExits: Record<string, number> = {
  EACCES: exitCodes.denied,
  EPERM: exitCodes.denied,
  EROFS: exitCodes.denied,
}

export async function describeFailure(error: unknown): Promise<CommandFailure> {
  if (error instanceof CommandError) {
    const { message, exit, isPrintedAsJson } = error
    return { code: nameOf(exit), text: cleanText(message), exit, isPrintedAsJson }
  }
  if (!(error instanceof Error)) return { code: 'fault', text: String(error), exit: exitCodes.refused }
  // A RelayError and a system error carry their code, a RefusalError its whole refusal.
  const { code, details }: CodedError = (error as { refusal?: CodedError }).refusal ?? (error as CodedError)
  if (typeof code !== 'string')
    return {
      code: 'fault',
      text: cleanText(error.message),
      trace: error.stack && cleanText(error.stack),
      exit: exitCodes.refused,
    }
  const { exit, text } = await refusalExit(code, error.message, details)
  return { code, text: cleanText(text), exit, details }
}

interface CodedError {
  code?: unknown
  details?: RefusalDetails
}

function nameOf(exit: number): string {
  return Object.entries(exitCodes).find(([, value]) => value === exit)?.[0] ?? 'refused'
}

/** The exit code and the text of a refusal. Imported here and not above: the table brings zod along, which `--version` and a mistyped option do not need. */
async function refusalExit(
  code: string,
  message: string,
  details?: RefusalDetails,
): Promise<{ exit: number; text: string }> {
  const { isRefusalCode, messageFor, refusals } = await import('@agent-relay/sdk/protocol/refusals')
  const exit = isRefusalCode(code) ? refusals[code].exit : (sdkExits[code] ?? systemExits[code] ?? exitCodes.refused)
  return { exit, text: messageFor('person', { code, message, details }) }
}
