// How a failure ends the process: its text for stderr and its exit code, computed from the table of refusals in this one place.

import { CommandError, exits } from './command.ts'
import { clean } from './text.ts'

export interface Failure {
  text: string
  exit: number
}

/** Codes that the SDK adds to the table of refusals. */
const sdkExits: Record<string, number> = {
  'daemon.not-running': exits.notRunning,
  'connection.lost': exits.notRunning,
  'workspace.ambiguous': exits.usage,
}

const systemExits: Record<string, number> = { EACCES: exits.denied, EPERM: exits.denied, EROFS: exits.denied }

export async function failureOf(error: unknown): Promise<Failure> {
  if (error instanceof CommandError) return { text: clean(error.message), exit: error.exit }
  if (!(error instanceof Error)) return { text: String(error), exit: exits.refused }
  const code = codeOf(error)
  if (code === undefined) return { text: error.stack ?? error.message, exit: exits.refused }
  return { text: clean(error.message), exit: await exitOf(code) }
}

/** A RelayError and a system error carry their code, a RefusalError its whole refusal. */
function codeOf(error: Error & { code?: unknown; refusal?: { code?: unknown } }): string | undefined {
  const code = error.refusal?.code ?? error.code
  return typeof code === 'string' ? code : undefined
}

/** Loaded here and not above: the table brings zod along, which `--version` and a mistyped option do not need. */
async function exitOf(code: string): Promise<number> {
  const { isRefusalCode, refusals } = await import('@agent-relay/sdk/refusals')
  return isRefusalCode(code) ? refusals[code].exit : (sdkExits[code] ?? systemExits[code] ?? exits.refused)
}
