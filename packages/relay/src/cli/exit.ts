// Describes an error: its text for people, its code for programs, and the exit code of the process.

import type { RefusalDetails } from '@agent-relay/sdk/protocol/refusals'
import { CommandError, exitCodes } from './command.ts'
import { cleanText } from './text.ts'

export interface CommandFailure {
  /** The code of the refusal or system error, or the name of the exit code if there is none. */
  code: string
  text: string
  exit: number
  details?: RefusalDetails
  /** The stack trace, if the error was unexpected. */
  trace?: string
  isPrintedAsJson?: boolean
}

/** Exit codes of error codes that only the SDK uses, and that are not in the table of refusals. */
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
  // A RelayError or system error has its code as a property; a RefusalError has it in its refusal.
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

/**
 * Returns the exit code and text of a refusal. The table of refusals is imported here, since it loads zod, which `--version` and mistyped options do not need.
 */
async function refusalExit(
  code: string,
  message: string,
  details?: RefusalDetails,
): Promise<{ exit: number; text: string }> {
  const { isRefusalCode, messageFor, refusals } = await import('@agent-relay/sdk/protocol/refusals')
  const exit = isRefusalCode(code) ? refusals[code].exit : (sdkExits[code] ?? systemExits[code] ?? exitCodes.refused)
  return { exit, text: messageFor('person', { code, message, details }) }
}
